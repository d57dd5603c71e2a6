// Weights of rewards that follow how much each reward tells completions of a group apart.
#pragma once

#include <string>
#include <vector>

#include "cohort/core/json.h"
#include "cohort/objectives/control_config.h"
#include "cohort/rewards/reward_config.h"
#include "cohort/rl/batch.h"

namespace cohort {

/// POW3R's policy-aware factors (arXiv:2605.20164), with rewards in the place of a rubric's criteria and
/// steps in that of epochs. Without use_policy_aware_weights every factor stays 1.
class RewardBalance {
 public:
  RewardBalance(const ControlConfig& config, const std::vector<RewardConfig>& rewards);

  /// `weights`, one per reward, times their factors; what the rewards of a category weigh together stays.
  std::vector<double> balanced(std::vector<double> weights) const;

  /// After an update: a reward's factor follows the mean variance of its scores within the groups, relative
  /// to the mean of that in its category. The factor of a reward that has no weight at this step, or judged
  /// no two samples of any group, stays.
  void after_step(const Batch& batch);

  /// Factors by the rewards' names. A reward that a saved state does not know keeps 1.
  Json save() const;
  void load(const Json& state);

 private:
  ControlConfig config_;
  std::vector<std::string> names_;
  std::vector<std::vector<size_t>> categories_;  // places of their rewards
  std::vector<double> factors_;                  // one per reward
};

/// Throws ConfigError where no category has two rewards that count.
void check_reward_balance(const ControlConfig& config, const std::vector<RewardConfig>& rewards);

}  // namespace cohort
