// Completions of an expert that join the policy's own in their group (LUFFY, arXiv:2504.14945).
#pragma once

#include <vector>

#include "cohort/objectives/advantage.h"
#include "cohort/rewards/reward_scorer.h"
#include "cohort/train/run_data.h"
#include "cohort/train/step_rollout.h"

namespace cohort {

/// The prompt's column `expert_completion`, a string, a message or a list of messages, as a completion: its
/// ids end as those of supervised training do, and its tokens count as drawn with certainty
/// (log-probability 0). Throws FormatError naming the row.
Completion to_expert(const Prompt& prompt, const SftFormat& format);

/// The same for open_prompts.
ExpertIds expert_ids(const SftFormat& format);

/// Has an expert's completion of each prompt scored and puts it behind those of its group.
void join_experts(const SftFormat& format, RewardScorer& scorer, ScoredRollout& rollout);

/// What the metrics of the policy's own completions are made from, where experts' have joined.
struct OwnCompletions {
  std::vector<RolloutGroup> groups;
  std::vector<RewardMatrix> rewards;
  TotalRewards totals;
  Advantages advantages;       ///< with mean and deviation of their rewards
  double expert_reward = 0.0;  ///< mean over the experts' completions with a reward; nan: none
};

OwnCompletions own_completions(const ScoredRollout& rollout, const TotalRewards& totals,
                               const Advantages& advantages);

}  // namespace cohort
