#include "cohort/train/grpo/evidence.h"

#include <algorithm>
#include <cmath>
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

/// The places of the samples with is_chosen(group, sample).
template <typename F>
std::vector<int64_t> choose(const Batch& step, F is_chosen) {
  std::vector<int64_t> chosen;
  int64_t place = 0;
  for (const Group& group : step.groups) {
    for (const Sample& sample : group.samples) {
      if (is_chosen(group, sample)) chosen.push_back(place);
      ++place;
    }
  }
  return chosen;
}

/// Places of samples with how telling each is.
struct Ranking {
  std::vector<int64_t> places{};
  std::vector<double> values{};  // one per place

  std::vector<int64_t> largest_first() const {
    std::vector<size_t> order(places.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] > values[b]; });
    std::vector<int64_t> sorted;
    sorted.reserve(order.size());
    for (const size_t i : order) sorted.push_back(places[i]);
    return sorted;
  }
};

/// How much the checked score is above the checker's, where both are ok.
Ranking gaps(const Batch& step, const Checker& checker) {
  Ranking gaps;
  int64_t place = -1;
  for_each_sample(step.groups, [&](const Sample& sample) {
    ++place;
    const RewardResult& checked = sample.rewards.at(checker.checked);
    const RewardResult& truth = sample.rewards.at(checker.checker);
    if (checked.status != RewardStatus::kOk || truth.status != RewardStatus::kOk) return;
    gaps.places.push_back(place);
    gaps.values.push_back(checked.score - truth.score);
  });
  return gaps;
}

/// Scores of one reward beside the totals, where both are there.
struct ScoresAndTotals {
  ScoresAndTotals(const Batch& step, size_t reward) {
    int64_t place = -1;
    for_each_sample(step.groups, [&](const Sample& sample) {
      ++place;
      const RewardResult& cell = sample.rewards.at(reward);
      if (cell.status != RewardStatus::kOk || !sample.has_reward()) return;
      places.push_back(place);
      scores.push_back(cell.score);
      totals.push_back(sample.reward);
    });
  }

  std::vector<int64_t> places;
  std::vector<double> scores, totals;
};

/// In units of the deviation from the mean; 0 where there is no spread.
std::vector<double> standardized(const std::vector<double>& values) {
  std::vector<double> result(values.size(), 0.0);
  if (!has_spread(values)) return result;
  const double mean = mean_of(values);
  const double deviation = std::sqrt(comoment(values, values) / static_cast<double>(values.size()));
  for (size_t i = 0; i < values.size(); ++i) result[i] = (values[i] - mean) / deviation;
  return result;
}

/// Where the correlation is too high, those with a high total and a high score of this reward first; where it
/// is too low, those with a high total in spite of a low score.
std::vector<int64_t> behind_correlation(const Batch& step, size_t reward, bool is_too_high) {
  const ScoresAndTotals pairs(step, reward);
  Ranking ranking{pairs.places, standardized(pairs.totals)};
  const std::vector<double> scores = standardized(pairs.scores);
  for (size_t i = 0; i < scores.size(); ++i) ranking.values[i] += is_too_high ? scores[i] : -scores[i];
  return ranking.largest_first();
}

std::vector<int64_t> above_the_checker(const Batch& step, const Checker& checker) {
  const Ranking ranking = gaps(step, checker);
  std::vector<int64_t> chosen = ranking.largest_first();
  chosen.resize(
      std::count_if(ranking.values.begin(), ranking.values.end(), [](double gap) { return gap > 0.0; }));
  return chosen;
}

std::vector<int64_t> with_status(const Batch& step, size_t reward, const std::string& status) {
  return choose(step, [&](const Group&, const Sample& sample) {
    return to_string(sample.rewards.at(reward).status) == status;
  });
}

/// The samples that explain rewards/NAME/`what`.
std::vector<int64_t> concerned_by_reward(const Batch& step, const std::vector<Checker>& checkers,
                                         size_t reward, const std::string& what, bool is_too_high) {
  if (what == "correlation") return behind_correlation(step, reward, is_too_high);
  if (what != "gap") return with_status(step, reward, what);
  for (const Checker& checker : checkers) {
    if (checker.checker == static_cast<int64_t>(reward)) return above_the_checker(step, checker);
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

double length_variation(const Group& group) {
  std::vector<double> lengths;
  lengths.reserve(group.samples.size());
  for (const Sample& sample : group.samples)
    lengths.push_back(static_cast<double>(sample.completion.num_sampled()));
  if (!has_spread(lengths)) return 0.0;
  return std::sqrt(comoment(lengths, lengths) / static_cast<double>(lengths.size() - 1)) / mean_of(lengths);
}

Metrics evidence_metrics(const Batch& step, const std::vector<Checker>& checkers) {
  std::vector<double> variations;
  variations.reserve(step.groups.size());
  for (const Group& group : step.groups) variations.push_back(length_variation(group));
  Metrics metrics{{kLengthVariation, mean_of(variations)}};
  const std::vector<std::string>& names = step.reward_names;
  for (size_t reward = 0; reward < names.size(); ++reward) {
    const ScoresAndTotals pairs(step, reward);
    metrics.emplace_back(kRewards + names[reward] + "/correlation", correlation(pairs.scores, pairs.totals));
  }
  for (const Checker& checker : checkers)
    metrics.emplace_back(kRewards + names[checker.checker] + "/gap", mean_of(gaps(step, checker).values));
  return metrics;
}

std::vector<int64_t> concerned_samples(const MonitorConfig& monitor, const Batch& step,
                                       const std::vector<Checker>& checkers) {
  const std::string& metric = monitor.metric;
  if (metric == kZeroStd)
    return choose(step, [](const Group& group, const Sample&) { return group.has_no_difference; });
  if (metric == kClipped) {
    return choose(step, [](const Group&, const Sample& sample) {
      return sample.completion.finish_reason == FinishReason::kLength;
    });
  }
  if (metric == kLengthVariation) {
    return choose(step, [&](const Group& group, const Sample&) {
      return monitor.below && length_variation(group) < *monitor.below;
    });
  }
  const std::vector<std::string>& names = step.reward_names;
  for (size_t reward = 0; reward < names.size(); ++reward) {
    const std::string prefix = kRewards + names[reward] + "/";
    if (metric.starts_with(prefix))
      return concerned_by_reward(step, checkers, reward, metric.substr(prefix.size()),
                                 monitor.above.has_value());
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
