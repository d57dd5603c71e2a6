// Token counts of an answer.
#pragma once

#include <cstdint>
#include <vector>

#include "cohort/serve/api/generation.h"

namespace cohort {

inline int64_t num_tokens(const std::vector<Choice>& choices) {
  int64_t count = 0;
  for (const Choice& choice : choices) count += std::ssize(choice.tokens);
  return count;
}

/// {"prompt_tokens", "completion_tokens", "total_tokens"}; the prompt counts once.
inline Json openai_usage(int64_t prompt_tokens, const std::vector<Choice>& choices) {
  const int64_t completion_tokens = num_tokens(choices);
  return {{"prompt_tokens", prompt_tokens},
          {"completion_tokens", completion_tokens},
          {"total_tokens", prompt_tokens + completion_tokens}};
}

}  // namespace cohort
