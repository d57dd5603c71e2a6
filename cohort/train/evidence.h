// Signs that a policy learns to please its rewards instead of getting better, and the completions behind
// them. They prove nothing by themselves: who sees one reads the completions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cohort/objectives/advantage.h"
#include "cohort/rewards/checker.h"
#include "cohort/rl/types.h"
#include "cohort/train/monitor_config.h"
#include "cohort/train/tensorboard.h"

namespace cohort {

/// A step before its update. Completions are counted through all groups.
struct ScoredStep {
  const std::vector<RolloutGroup>& groups;
  const std::vector<RewardMatrix>& rewards;  ///< per group
  const TotalRewards& totals;                ///< per completion
  const std::vector<uint8_t>& zero_std;      ///< per group
  const std::vector<Checker>& checkers;
};

/// Pearson's coefficient of two lists of the same size; NaN where one of them has no spread.
double correlation(const std::vector<double>& x, const std::vector<double>& y);

/// Standard deviation (Bessel) of the group's lengths over their mean.
double length_variation(const RolloutGroup& group);

/// `completions/length_variation`, the mean over groups; `rewards/NAME/correlation` with the total, over the
/// scorable completions whose cell is ok; `rewards/CHECKER/gap`, the mean of the checked score minus the
/// checker's where both are ok. NaN where there is nothing to compute it from.
Metrics evidence_metrics(const ScoredStep& step);

/// The completions that explain the value of the monitor's metric, the most telling first; none for metrics
/// that are no matter of single completions.
std::vector<int64_t> concerned_completions(const MonitorConfig& monitor, const ScoredStep& step);

/// Whether `concerned_completions` finds those that a monitor with the action mask should mask.
bool can_mask(const MonitorConfig& monitor);

}  // namespace cohort
