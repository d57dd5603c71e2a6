// Checkers: rewards that never train and judge the same completions as one that does. A policy that learns to
// please the training reward without getting better shows in the gap between the two.
#pragma once

#include <cstdint>
#include <vector>

#include "cohort/rewards/reward_config.h"

namespace cohort {

/// Places in the list of rewards.
struct Checker {
  int64_t checker = 0;
  int64_t checked = 0;
};

/// The rewards with `checks`. Throws ConfigError where one names no other reward, or where its scores could
/// reach the loss: by a weight of its own, or by another reward that requires it.
std::vector<Checker> find_checkers(const std::vector<RewardConfig>& rewards);

}  // namespace cohort
