#include "cohort/sampler/context_room.h"

#include "libs/common/str.h"

namespace cohort {

std::string context_excess(const std::string& key, int64_t max_completion_length, int64_t context,
                           const PromptExtent& prompts) {
  const int64_t left = context - prompts.longest;
  if (max_completion_length <= left) return "";
  return str(key, " = ", max_completion_length, " passes the model's context of ", context, " tokens: ", left,
             " are left after the ", prompts.shortest ? "longest " : "", "prompt (", prompts.longest,
             " tokens, ", prompts.longest_id, ")",
             prompts.shortest ? str(", ", context - *prompts.shortest, " after the shortest") : "",
             "; completions are cut there");
}

}  // namespace cohort
