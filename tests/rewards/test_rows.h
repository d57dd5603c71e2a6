// Prompts and completions for the tests of rewards.
#pragma once

#include <string>

#include "cohort/rewards/reward.h"

namespace cohort {

inline Prompt make_prompt(Json fields) {
  Prompt prompt;
  prompt.id = "rows.jsonl:5";
  prompt.text = "the prompt";
  prompt.fields = std::move(fields);
  return prompt;
}

inline Completion make_completion(const std::string& text) {
  Completion completion;
  completion.token_ids = {1, 2, 3};
  completion.text = text;
  return completion;
}

/// Score and status as one text, "1 ok", which is easy to compare and to print.
inline std::string brief(const RewardResult& result) {
  return str(result.score, " ", to_string(result.status));
}

}  // namespace cohort
