// Re-rolls of tool calls (AXPO, arXiv:2605.28774; its code is not public, and what it leaves open is chosen
// here): where no completion of a prompt that calls a tool succeeds, the calls that the policy was least
// certain of are drawn anew. The question and the thinking before the call are frozen, and so is the mark
// that opens the call, so that each re-roll calls a tool.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cohort/objectives/advantage_config.h"
#include "cohort/rl/batch.h"
#include "cohort/sampler/turn_handler.h"
#include "cohort/train/grpo/own_functions.h"
#include "cohort/train/grpo/rollout_config.h"

namespace cohort {

/// Calls to draw anew. All lists have a value for each call.
struct Rerolls {
  std::vector<RerolledCall> calls{};
  std::vector<Prompt> prompts{};          ///< with what is frozen of the turn
  std::vector<uint64_t> first_samples{};  ///< the number of its first re-roll among the prompt's completions
  int64_t num_wrong_groups = 0;  ///< groups in which completions call tools and none of these is a success
};

/// The calls of `groups` to draw anew, in order: of all that may be, those with the lowest mean probability
/// of the tokens from the mark to the end of the turn; at most RolloutConfig::most_reroll_groups().
Rerolls choose_rerolls(std::span<const Group> groups, const TurnHandler& turns, const RolloutConfig& config);

/// Sets `token_advantages` of the samples whose calls were drawn anew: the frozen tokens have the advantage
/// of a sample with RerolledCall::recovery as its reward, the others keep `advantage`. The samples of the
/// re-rolls' groups are not in these statistics. Call after their own advantages are set.
void give_recovery(Batch& batch, const AdvantageConfig& config, const AdvantageFunction& own);

/// The batch without its groups of re-rolls.
Batch without_rerolls(const Batch& batch);

}  // namespace cohort
