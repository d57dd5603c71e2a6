// The credit of a step: from the rewards of a batch to the advantage of each sample or of each of its tokens.
#pragma once

#include <span>

#include "cohort/objectives/presets.h"
#include "cohort/rl/batch.h"
#include "cohort/train/grpo/own_functions.h"

namespace cohort {

/// Total rewards over the samples that are trained on; zeros without any.
struct RewardSummary {
  double mean = 0.0;
  double std = 0.0;            ///< Bessel-corrected; 0 for fewer than two
  double frac_zero_std = 0.0;  ///< share of the groups whose rewards are all the same number
};

/// Sets `advantage`, `token_advantages` and `returns` of every sequence and `has_no_difference` of every
/// group from the total rewards, and from the columns that the settings read (ref_logprobs, entropies,
/// values). An episode counts once in its group, and its branches have its credit. A sample that a monitor
/// masked is left out of its group's statistics. `own` gives the advantages in place of the settings if it is
/// not empty. Throws ConfigError if the settings contradict each other.
RewardSummary assign_credit(Batch& batch, const AdvantageConfig& config, const AdvantageFunction& own = {});

/// Moves the samples that `drop_pivot` takes out to the untrained ones, after assign_credit(): their group's
/// statistics count them, its loss does not.
void take_out_pivots(Batch& batch, const AdvantageConfig& config);

/// Mean over the sampled tokens of log(old / reference), the KL that the rewards pay; nan without tokens.
double mean_reward_kl(std::span<const Group> groups);

/// Whether the settings read the entropies of the policy that sampled.
bool needs_entropies(const ObjectiveSettings& settings);

}  // namespace cohort
