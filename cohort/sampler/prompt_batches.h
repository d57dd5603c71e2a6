// A long list of prompts as rollouts of bounded size.
#pragma once

#include <cstdint>
#include <vector>

#include "cohort/rl/types.h"

namespace cohort {

constexpr int64_t kCompletionsAtOnce = 512;

struct PromptBatch {
  /// Index of the first prompt in the whole list; it belongs into RolloutAddress::first_prompt.
  int64_t first = 0;
  std::vector<Prompt> prompts;
};

/// Cuts `prompts`, in order, into batches of at most kCompletionsAtOnce completions or one prompt: enough to
/// keep a rollout's passes full, few enough to bound its memory. The completions do not depend on the cuts.
std::vector<PromptBatch> prompt_batches(const std::vector<Prompt>& prompts, int64_t num_generations);

/// Tokens of each prompt.
std::vector<int64_t> lengths_of(const std::vector<Prompt>& prompts);

}  // namespace cohort
