#include "cohort/objectives/advantage.h"

#include <algorithm>
#include <cmath>

namespace cohort {
namespace {

constexpr double kStdOffset = 1e-4;

/// Count, mean, standard deviation and range of the valid rewards in [begin, end).
struct RewardStatistics {
  int64_t count = 0;
  double mean = 0.0;
  double std = 0.0;
  double min = 0.0;
  double max = 0.0;
};

RewardStatistics statistics(const TotalRewards& rewards, size_t begin, size_t end) {
  std::vector<double> values;
  for (size_t i = begin; i < end; ++i) {
    if (rewards.valid[i]) values.push_back(rewards.values[i]);
  }
  RewardStatistics result;
  result.count = static_cast<int64_t>(values.size());
  if (values.empty()) return result;
  const auto [min, max] = std::minmax_element(values.begin(), values.end());
  result.min = *min;
  result.max = *max;
  for (double value : values) result.mean += value;
  result.mean /= static_cast<double>(values.size());
  double squares = 0.0;
  for (double value : values) squares += (value - result.mean) * (value - result.mean);
  // Rounding in the mean would give equal rewards a spread of some 1e-17.
  if (result.max > result.min) result.std = std::sqrt(squares / static_cast<double>(values.size() - 1));
  return result;
}

}  // namespace

ScaleRewards parse_scale_rewards(const std::string& name) {
  if (name == "group") return ScaleRewards::kGroup;
  if (name == "batch") return ScaleRewards::kBatch;
  if (name == "none") return ScaleRewards::kNone;
  throw ConfigError(str("scale_rewards is \"", name, "\": use group, batch or none"));
}

void append_total_rewards(const RewardMatrix& rewards, std::span<const double> weights,
                          TotalRewards& totals) {
  COHORT_CHECK(static_cast<int64_t>(weights.size()) == rewards.num_rewards());
  for (int64_t i = 0; i < rewards.num_completions(); ++i) {
    double total = 0.0;
    bool any_ok = false, any_failed = false;
    for (int64_t c = 0; c < rewards.num_rewards(); ++c) {
      const RewardResult& cell = rewards.at(i, c);
      if (weights[c] == 0.0 || cell.status == RewardStatus::kSkipped) continue;
      const bool ok = cell.status == RewardStatus::kOk && std::isfinite(cell.score);
      (ok ? any_ok : any_failed) = true;
      if (ok) total += weights[c] * cell.score;
    }
    totals.valid.push_back(any_ok && !any_failed);
    totals.values.push_back(total);
  }
}

Advantages group_advantages(const TotalRewards& rewards, int64_t group_size, ScaleRewards scale) {
  const auto num_completions = static_cast<int64_t>(rewards.values.size());
  COHORT_CHECK(group_size >= 1 && num_completions % group_size == 0, num_completions,
               " rewards in groups of ", group_size);
  std::vector<int64_t> ends;
  for (int64_t end = group_size; end <= num_completions; end += group_size) ends.push_back(end);
  return group_advantages(rewards, ends, scale);
}

Advantages group_advantages(const TotalRewards& rewards, std::span<const int64_t> group_ends,
                            ScaleRewards scale) {
  const size_t num_completions = rewards.values.size();
  COHORT_CHECK(rewards.valid.size() == num_completions);
  const RewardStatistics batch = statistics(rewards, 0, num_completions);
  Advantages result;
  result.values.assign(num_completions, 0.0);
  result.reward_mean = batch.mean;
  result.reward_std = batch.std;
  for (size_t g = 0; g < group_ends.size(); ++g) {
    const size_t begin = g == 0 ? 0 : group_ends[g - 1], end = group_ends[g];
    const RewardStatistics group = statistics(rewards, begin, end);
    result.zero_std.push_back(group.max == group.min);
    if (result.zero_std.back()) continue;
    const double std = scale == ScaleRewards::kGroup ? group.std : batch.std;
    const double divisor = scale == ScaleRewards::kNone ? 1.0 : std + kStdOffset;
    for (size_t i = begin; i < end; ++i) {
      if (rewards.valid[i]) result.values[i] = (rewards.values[i] - group.mean) / divisor;
    }
  }
  const auto num_zero = std::count(result.zero_std.begin(), result.zero_std.end(), 1);
  if (!result.zero_std.empty()) {
    result.frac_reward_zero_std = static_cast<double>(num_zero) / static_cast<double>(result.zero_std.size());
  }
  return result;
}

}  // namespace cohort
