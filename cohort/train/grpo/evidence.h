// Signs that a policy learns to please its rewards instead of getting better, and the completions behind
// them. They prove nothing by themselves: who sees one reads the completions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cohort/records/tensorboard.h"
#include "cohort/rewards/checker.h"
#include "cohort/rl/batch.h"
#include "cohort/train/grpo/monitor_config.h"

namespace cohort {

/// Pearson's coefficient of two lists of the same size; NaN where one of them has no spread.
double correlation(const std::vector<double>& x, const std::vector<double>& y);

/// Standard deviation (Bessel) of the group's lengths over their mean.
double length_variation(const Group& group);

/// `completions/length_variation`, the mean over groups; `rewards/NAME/correlation` with the total, over the
/// samples with a reward whose cell is ok; `rewards/CHECKER/gap`, the mean of the checked score minus the
/// checker's where both are ok. NaN where there is nothing to compute it from.
Metrics evidence_metrics(const Batch& step, const std::vector<Checker>& checkers);

/// The places, among all samples of the step, of those that explain the value of the monitor's metric, the
/// most telling first; none for metrics that single samples do not explain.
std::vector<int64_t> concerned_samples(const MonitorConfig& monitor, const Batch& step,
                                       const std::vector<Checker>& checkers);

/// Whether `concerned_samples` finds those that a monitor with the action mask should mask.
bool can_mask(const MonitorConfig& monitor);

}  // namespace cohort
