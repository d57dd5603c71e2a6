// How much a reward counts at each step: always the same, or along straight lines between given steps.
#pragma once

#include <cstdint>

#include "cohort/rewards/reward_config.h"

namespace cohort {

/// The weight at `step`, counted from 1: a function of nothing else, so that a resumed run has the same.
double reward_weight(const RewardConfig& config, int64_t step);

/// The weight at the end of its schedule: what judging outside of training uses, such as evaluations, which
/// are compared with each other.
double last_reward_weight(const RewardConfig& config);

/// Whether it has a weight at any step at all.
bool ever_counts(const RewardConfig& config);

/// Throws ConfigError for a weight or a schedule that can't be.
void check_reward_weight(const RewardConfig& config);

}  // namespace cohort
