// How the reward of each prompt changed over a run.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "cohort/records/completion_index.h"

namespace cohort {

/// A prompt in the first and in the last step that drew it. Steps whose completions all lack a reward count
/// only if no step has one.
struct PromptSummary {
  uint64_t prompt = 0;       ///< fnv1a() of its id
  uint32_t first_entry = 0;  ///< its first completion
  uint32_t count = 0;        ///< its completions
  uint32_t first_step = 0, last_step = 0;
  double first_reward = std::numeric_limits<double>::quiet_NaN();  ///< mean over the first step's completions
  double last_reward = first_reward;  ///< of the last step; both are NaN if no completion has a reward
};

/// Whether a completion counts for the reward of its prompt: the policy drew it, and its reward is finite.
bool has_drawn_reward(const CompletionEntry& entry);

/// All prompts of a run, most drawn first, then by their first completions. The completions of a prompt are
/// those that the policy drew for it: no demonstrations, but also those that were not trained on, since
/// dynamic sampling leaves out just the groups that are solved or hopeless. A mean leaves out completions
/// without a finite reward.
std::vector<PromptSummary> prompt_summaries(std::span<const CompletionEntry> entries);

}  // namespace cohort
