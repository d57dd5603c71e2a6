#include "cohort/objectives/baseline.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cohort/core/error.h"
#include "cohort/objectives/sample_statistics.h"

namespace cohort {
namespace {

using ScoreGroup = std::span<const double>;

std::vector<double> minus_baseline(ScoreGroup group, double baseline) {
  std::vector<double> centred(group.begin(), group.end());
  for (double& score : centred) score -= baseline;
  return centred;
}

/// r_i - mean of the others = count / (count - 1) * (r_i - mean).
std::vector<double> minus_the_others(ScoreGroup group) {
  const Spread spread = spread_of(group, 0);
  const double count = static_cast<double>(spread.count);
  std::vector<double> centred = minus_baseline(group, spread.mean);
  for (double& score : centred) score *= count / (count - 1.0);
  return centred;
}

double length_weighted_mean(ScoreGroup group, std::span<const int64_t> lengths) {
  double sum = 0.0, weights = 0.0;
  for (size_t i = 0; i < group.size(); ++i) {
    if (std::isnan(group[i])) continue;
    sum += static_cast<double>(lengths[i]) * group[i];
    weights += static_cast<double>(lengths[i]);
  }
  return weights > 0.0 ? sum / weights : spread_of(group, 0).mean;
}

/// Two that are best alike have nothing over the second: all are 0 then.
std::vector<double> over_the_second(ScoreGroup group) {
  std::vector<double> centred(group.begin(), group.end());
  size_t best = group.size();
  double second = -std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < group.size(); ++i) {
    if (std::isnan(group[i])) continue;
    centred[i] = 0.0;
    if (best == group.size()) {
      best = i;
    } else if (group[i] > group[best]) {
      second = group[best];
      best = i;
    } else {
      second = std::max(second, group[i]);
    }
  }
  centred[best] = group[best] - second;
  return centred;
}

double pair_weight(double reward_gap, double likelihood_gap, double temperature) {
  const double sign = reward_gap > 0.0 ? 1.0 : -1.0;
  return 1.0 / (1.0 + std::exp(sign * likelihood_gap / temperature));
}

std::vector<double> over_all_pairs(ScoreGroup group, std::span<const double> mean_logprobs,
                                   double temperature) {
  const double num_others = static_cast<double>(spread_of(group, 0).count - 1);
  std::vector<double> centred(group.begin(), group.end());
  for (size_t i = 0; i < group.size(); ++i) {
    if (std::isnan(group[i])) continue;
    double sum = 0.0;
    for (size_t j = 0; j < group.size(); ++j) {
      const double gap = group[i] - group[j];
      if (std::isnan(gap) || gap == 0.0) continue;
      sum += 2.0 * pair_weight(gap, mean_logprobs[i] - mean_logprobs[j], temperature) * gap;
    }
    centred[i] = sum / num_others;
  }
  return centred;
}

/// For a group in which at least two scores differ.
std::vector<double> centred_group(const ScoredGroups& all, size_t begin, ScoreGroup group,
                                  const std::string& baseline) {
  if (baseline == "group_mean") return minus_baseline(group, spread_of(group, 0).mean);
  if (baseline == "group_loo") return minus_the_others(group);
  if (baseline == "group_median") return minus_baseline(group, median_of(group));
  if (baseline == "second_best") return over_the_second(group);
  if (baseline == "group_len_weighted") {
    COHORT_CHECK(all.lengths.size() == all.scores.size());
    return minus_baseline(group, length_weighted_mean(group, all.lengths.subspan(begin, group.size())));
  }
  COHORT_CHECK(baseline == "pairwise" && all.mean_logprobs.size() == all.scores.size(), baseline);
  return over_all_pairs(group, all.mean_logprobs.subspan(begin, group.size()), all.pairwise_temperature);
}

}  // namespace

bool is_group_baseline(const std::string& baseline) {
  return baseline.starts_with("group_") || baseline == "second_best" || baseline == "pairwise";
}

std::vector<double> centred_scores(const ScoredGroups& groups, const std::string& baseline) {
  COHORT_CHECK(groups.ends.empty() ? groups.scores.empty()
                                   : groups.ends.back() == static_cast<int64_t>(groups.scores.size()));
  std::vector<double> centred(groups.scores.begin(), groups.scores.end());
  if (baseline == "none" || baseline == "critic") return centred;
  const Spread batch = spread_of(groups.scores, 0);
  for_each_group(groups.scores, groups.ends, [&](size_t g, int64_t begin, ScoreGroup group) {
    std::vector<double> own;
    if (baseline == "batch_mean") {
      own = minus_baseline(group, batch.differs() ? batch.mean : batch.min);
    } else if (baseline == "greedy") {
      COHORT_CHECK(groups.greedy_scores.size() == groups.ends.size());
      own = minus_baseline(group, groups.greedy_scores[g]);
    } else if (spread_of(group, 0).differs()) {
      own = centred_group(groups, begin, group, baseline);
    } else {
      own = minus_baseline(group, spread_of(group, 0).min);
    }
    std::copy(own.begin(), own.end(), centred.begin() + begin);
  });
  return centred;
}

}  // namespace cohort
