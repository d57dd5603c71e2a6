#include "cohort/train/evidence.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

namespace cohort {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();  // null in metrics.jsonl
constexpr const char* kZeroStd = "frac_reward_zero_std";
constexpr const char* kClipped = "completions/clipped_ratio";
constexpr const char* kLengthVariation = "completions/length_variation";
constexpr const char* kRewards = "rewards/";

double mean_of(const std::vector<double>& values) {
  if (values.empty()) return kNothing;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Sum of the products of deviations from the means.
double comoment(const std::vector<double>& x, const std::vector<double>& y) {
  const double x_mean = mean_of(x), y_mean = mean_of(y);
  double sum = 0.0;
  for (size_t i = 0; i < x.size(); ++i) sum += (x[i] - x_mean) * (y[i] - y_mean);
  return sum;
}

bool has_spread(const std::vector<double>& values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return low != high && *low < *high;
}

/// Calls `visit(completion, group, sample)` for all completions in order.
void for_each_completion(const ScoredStep& step, const std::function<void(int64_t, size_t, int64_t)>& visit) {
  int64_t completion = 0;
  for (size_t group = 0; group < step.groups.size(); ++group) {
    for (int64_t i = 0; i < std::ssize(step.groups[group].completions); ++i) visit(completion++, group, i);
  }
}

std::vector<int64_t> choose(const ScoredStep& step,
                            const std::function<bool(int64_t, size_t, int64_t)>& is_chosen) {
  std::vector<int64_t> chosen;
  for_each_completion(step, [&](int64_t completion, size_t group, int64_t i) {
    if (is_chosen(completion, group, i)) chosen.push_back(completion);
  });
  return chosen;
}

/// Numbers of completions with how telling each is.
struct Ranking {
  std::vector<int64_t> completions;
  std::vector<double> values;  // of each completion of the list

  std::vector<int64_t> largest_first() const {
    std::vector<size_t> order(completions.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] > values[b]; });
    std::vector<int64_t> sorted;
    for (const size_t place : order) sorted.push_back(completions[place]);
    return sorted;
  }
};

/// How much the checked score is above the checker's, where both are ok.
Ranking gaps(const ScoredStep& step, const Checker& checker) {
  Ranking gaps;
  for_each_completion(step, [&](int64_t completion, size_t group, int64_t i) {
    const RewardResult& checked = step.rewards[group].at(i, checker.checked);
    const RewardResult& truth = step.rewards[group].at(i, checker.checker);
    if (checked.status != RewardStatus::kOk || truth.status != RewardStatus::kOk) return;
    gaps.completions.push_back(completion);
    gaps.values.push_back(checked.score - truth.score);
  });
  return gaps;
}

/// Scores of one reward beside the totals, where both are there.
struct ScoresAndTotals {
  ScoresAndTotals(const ScoredStep& step, int64_t reward) {
    for_each_completion(step, [&](int64_t completion, size_t group, int64_t i) {
      const RewardResult& cell = step.rewards[group].at(i, reward);
      if (cell.status != RewardStatus::kOk || !step.totals.valid[completion]) return;
      completions.push_back(completion);
      scores.push_back(cell.score);
      totals.push_back(step.totals.values[completion]);
    });
  }

  std::vector<int64_t> completions;
  std::vector<double> scores, totals;
};

/// In units of the deviation from the mean; 0 where there is no spread.
std::vector<double> standardised(const std::vector<double>& values) {
  std::vector<double> result(values.size(), 0.0);
  if (!has_spread(values)) return result;
  const double mean = mean_of(values);
  const double deviation = std::sqrt(comoment(values, values) / static_cast<double>(values.size()));
  for (size_t i = 0; i < values.size(); ++i) result[i] = (values[i] - mean) / deviation;
  return result;
}

/// Where the correlation is too high, those with a high total and a high score of this reward first; where it
/// is too low, those with a high total in spite of a low score.
std::vector<int64_t> behind_correlation(const ScoredStep& step, int64_t reward, bool is_too_high) {
  const ScoresAndTotals pairs(step, reward);
  Ranking ranking{pairs.completions, standardised(pairs.totals)};
  const std::vector<double> scores = standardised(pairs.scores);
  for (size_t i = 0; i < scores.size(); ++i) ranking.values[i] += is_too_high ? scores[i] : -scores[i];
  return ranking.largest_first();
}

std::vector<int64_t> above_the_checker(const ScoredStep& step, const Checker& checker) {
  const Ranking ranking = gaps(step, checker);
  std::vector<int64_t> chosen = ranking.largest_first();
  chosen.resize(
      std::count_if(ranking.values.begin(), ranking.values.end(), [](double gap) { return gap > 0.0; }));
  return chosen;
}

std::vector<int64_t> with_status(const ScoredStep& step, int64_t reward, const std::string& status) {
  return choose(step, [&](int64_t, size_t group, int64_t i) {
    return to_string(step.rewards[group].at(i, reward).status) == status;
  });
}

/// The completions behind rewards/NAME/`what`.
std::vector<int64_t> concerned_by_reward(const ScoredStep& step, int64_t reward, const std::string& what,
                                         bool is_too_high) {
  if (what == "correlation") return behind_correlation(step, reward, is_too_high);
  if (what != "gap") return with_status(step, reward, what);
  for (const Checker& checker : step.checkers) {
    if (checker.checker == reward) return above_the_checker(step, checker);
  }
  return {};
}

}  // namespace

double correlation(const std::vector<double>& x, const std::vector<double>& y) {
  COHORT_CHECK(x.size() == y.size());
  if (!has_spread(x) || !has_spread(y)) return kNothing;
  const double r = comoment(x, y) / std::sqrt(comoment(x, x) * comoment(y, y));
  return std::clamp(r, -1.0, 1.0);
}

double length_variation(const RolloutGroup& group) {
  std::vector<double> lengths;
  for (const Completion& completion : group.completions)
    lengths.push_back(static_cast<double>(completion.token_ids.size()));
  if (!has_spread(lengths)) return 0.0;
  return std::sqrt(comoment(lengths, lengths) / static_cast<double>(lengths.size() - 1)) / mean_of(lengths);
}

Metrics evidence_metrics(const ScoredStep& step) {
  std::vector<double> variations;
  for (const RolloutGroup& group : step.groups) variations.push_back(length_variation(group));
  Metrics metrics{{kLengthVariation, mean_of(variations)}};
  const std::vector<std::string>& names = step.rewards.front().names();
  for (int64_t reward = 0; reward < std::ssize(names); ++reward) {
    const ScoresAndTotals pairs(step, reward);
    metrics.emplace_back(kRewards + names[reward] + "/correlation", correlation(pairs.scores, pairs.totals));
  }
  for (const Checker& checker : step.checkers)
    metrics.emplace_back(kRewards + names[checker.checker] + "/gap", mean_of(gaps(step, checker).values));
  return metrics;
}

std::vector<int64_t> concerned_completions(const MonitorConfig& monitor, const ScoredStep& step) {
  const std::string& metric = monitor.metric;
  if (metric == kZeroStd)
    return choose(step, [&](int64_t, size_t group, int64_t) { return step.zero_std[group] != 0; });
  if (metric == kClipped) {
    return choose(step, [&](int64_t, size_t group, int64_t i) {
      return step.groups[group].completions[i].finish_reason == FinishReason::kLength;
    });
  }
  if (metric == kLengthVariation) {
    return choose(step, [&](int64_t, size_t group, int64_t) {
      return monitor.below && length_variation(step.groups[group]) < *monitor.below;
    });
  }
  const std::vector<std::string>& names = step.rewards.front().names();
  for (int64_t reward = 0; reward < std::ssize(names); ++reward) {
    const std::string prefix = kRewards + names[reward] + "/";
    if (metric.starts_with(prefix))
      return concerned_by_reward(step, reward, metric.substr(prefix.size()), monitor.above.has_value());
  }
  return {};
}

bool can_mask(const MonitorConfig& monitor) {
  const std::string& metric = monitor.metric;
  if (metric == kLengthVariation) return monitor.below.has_value();
  const bool is_gap = metric.starts_with(kRewards) && metric.ends_with("/gap");
  return monitor.above && (metric == kZeroStd || metric == kClipped || is_gap);
}

}  // namespace cohort
