// Demonstrations: completions from the data that join the policy's own in their group (LUFFY,
// arXiv:2504.14945).
#pragma once

#include "cohort/dist/group.h"
#include "cohort/rewards/reward_scorer.h"
#include "cohort/rl/batch.h"
#include "cohort/train/grpo/credit.h"
#include "cohort/train/run/run_data.h"

namespace cohort {

/// The prompt's column `demonstration`, a string, a message or a list of messages, as a completion. Its
/// ids end as those of supervised training do, and its tokens count as drawn with certainty (log-probability
/// 0). Throws FormatError naming the row.
Completion to_demonstration(const Prompt& prompt, const SftFormat& format);

/// The same for open_prompts.
DemonstrationIds demonstration_ids(const SftFormat& format);

/// Appends a demonstration of each prompt to its group, with its total reward. Each of `processes` scores a
/// share, and all get all results.
void join_demonstrations(const SftFormat& format, RewardScorer& scorer, Batch& batch,
                         dist::Group& processes = dist::alone());

/// A batch without its demonstrations, for the metrics of the policy's own samples.
Batch without_demonstrations(const Batch& batch);

/// Mean total reward over the demonstrations that have one; nan: none.
double mean_demonstration_reward(const Batch& batch);

/// The summary of the policy's own samples; `of_all` is the summary of the batch with its demonstrations.
RewardSummary own_summary(const Batch& own, const RewardSummary& of_all);

}  // namespace cohort
