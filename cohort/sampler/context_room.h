// The room for completions in a model's context.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace cohort {

/// The lengths of prompts, in tokens.
struct PromptExtent {
  int64_t longest = 0;
  std::string longest_id{};           ///< the id of a prompt with that length
  std::optional<int64_t> shortest{};  ///< unset: there is one prompt
};

/// The part of a warning that says how completions of `max_completion_length` tokens, the value of the
/// setting `key`, pass a context of `context` tokens. Empty if they fit after every prompt.
std::string context_excess(const std::string& key, int64_t max_completion_length, int64_t context,
                           const PromptExtent& prompts);

}  // namespace cohort
