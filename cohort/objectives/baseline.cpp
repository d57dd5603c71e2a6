#include "cohort/objectives/baseline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "cohort/objectives/choices.h"
#include "cohort/objectives/sample_statistics.h"

namespace cohort {
namespace {

std::vector<double> minus_baseline(std::span<const double> group, double baseline) {
  std::vector<double> centred(group.begin(), group.end());
  for (double& score : centred) score -= baseline;
  return centred;
}

std::vector<double> unchanged(const GroupScores& group) { return {group.scores.begin(), group.scores.end()}; }

std::vector<double> over_the_mean(const GroupScores& group) {
  return minus_baseline(group.scores, spread_of(group.scores, 0).mean);
}

/// r_i - mean of the others = count / (count - 1) * (r_i - mean).
std::vector<double> over_the_others(const GroupScores& group) {
  const Spread spread = spread_of(group.scores, 0);
  const double count = static_cast<double>(spread.count);
  std::vector<double> centred = minus_baseline(group.scores, spread.mean);
  for (double& score : centred) score *= count / (count - 1.0);
  return centred;
}

std::vector<double> over_the_median(const GroupScores& group) {
  return minus_baseline(group.scores, median_of(group.scores));
}

std::vector<double> over_the_weighted_mean(const GroupScores& of) {
  COHORT_CHECK(of.all.lengths.size() == of.all.scores.size());
  const std::span<const double> group = of.scores;
  const std::span<const int64_t> lengths = of.all.lengths.subspan(of.begin, group.size());
  double sum = 0.0, weights = 0.0;
  for (size_t i = 0; i < group.size(); ++i) {
    if (std::isnan(group[i])) continue;
    sum += static_cast<double>(lengths[i]) * group[i];
    weights += static_cast<double>(lengths[i]);
  }
  return minus_baseline(group, weights > 0.0 ? sum / weights : spread_of(group, 0).mean);
}

std::vector<double> over_the_batch(const GroupScores& group) {
  return minus_baseline(group.scores, group.batch.differs() ? group.batch.mean : group.batch.min);
}

std::vector<double> over_the_greedy(const GroupScores& group) {
  COHORT_CHECK(group.all.greedy_scores.size() == group.all.ends.size());
  return minus_baseline(group.scores, group.all.greedy_scores[group.group]);
}

/// Two that are best alike have nothing over the second: all are 0 then.
std::vector<double> over_the_second(const GroupScores& of) {
  const std::span<const double> group = of.scores;
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

std::vector<double> over_all_pairs(const GroupScores& of) {
  COHORT_CHECK(of.all.mean_logprobs.size() == of.all.scores.size());
  const std::span<const double> group = of.scores;
  const std::span<const double> mean_logprobs = of.all.mean_logprobs.subspan(of.begin, group.size());
  const double temperature = of.all.keys.pairwise.temperature;
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

/// [G][G] the segments that completions have in common, from the prompt on.
std::vector<std::vector<int64_t>> common_segments(std::span<const Fork> forks) {
  std::vector<std::vector<int64_t>> common(forks.size(), std::vector<int64_t>(forks.size(), 0));
  for (size_t i = 0; i < forks.size(); ++i) {
    const auto& [of, num_segments] = forks[i];
    if (of < 0) continue;
    COHORT_CHECK(of < static_cast<int64_t>(i), "a completion forks from one before it");
    for (int64_t j = 0; j < static_cast<int64_t>(i); ++j)
      common[i][j] = common[j][i] = j == of ? num_segments : std::min(num_segments, common[of][j]);
  }
  return common;
}

std::vector<double> over_the_subtrees(const GroupScores& of) {
  COHORT_CHECK(of.all.forks.size() == of.all.scores.size());
  const std::span<const double> group = of.scores;
  const auto common = common_segments(of.all.forks.subspan(of.begin, group.size()));
  const double mean_of_all = spread_of(group, 0).mean;
  std::vector<double> centred(group.begin(), group.end());
  for (size_t i = 0; i < group.size(); ++i) {
    if (std::isnan(group[i])) continue;
    double sum = group[i] - mean_of_all, count = 1.0;
    for (int64_t depth = 1;; ++depth) {
      std::vector<double> subtree;
      for (size_t j = 0; j < group.size(); ++j) {
        if ((j == i || common[i][j] >= depth) && !std::isnan(group[j])) subtree.push_back(group[j]);
      }
      if (subtree.size() < 2) break;
      sum += group[i] - spread_of(subtree, 0).mean;
      count += 1.0;
    }
    centred[i] = sum / count;
  }
  return centred;
}

constexpr auto kBaselines = std::to_array<Baseline>({
#define BASELINE(id, Keys, words, function, ...) \
  {.name = #id, .text = words, .centred = function __VA_OPT__(, ) __VA_ARGS__},
#include "cohort/objectives/baselines.def"
#undef BASELINE
});

}  // namespace

void PairwiseKeys::describe(FieldVisitor& f) {
  f("pairwise_temperature", temperature,
    "Temperature of the pairwise baseline's weights; a high one gives leave-one-out.", above(0.0));
}

void CriticKeys::describe(FieldVisitor& f) {
  f("value_lambda", value_lambda,
    "Lambda of the returns that the critic learns; gae_lambda when not set (VAPO, arXiv:2504.05118, uses 1).",
    between(0.0, 1.0));
  f("length_adaptive_alpha", length_adaptive_alpha,
    "VAPO's alpha: lambda is 1 - 1 / (alpha * length), at least 0, instead of gae_lambda "
    "(arXiv:2504.05118; the paper uses 0.05); 0 turns it off.",
    at_least(0.0));
  f("critic_share", share,
    "Share of the critic's advantage; the rest is that of group mean and std (a mixture for early training, "
    "1 to 0, while a small critic still helps).",
    between(0.0, 1.0));
}

void BaselineKeys::describe(FieldVisitor& f) {
#define BASELINE(id, Keys, ...) id.describe(f);
#include "cohort/objectives/baselines.def"
#undef BASELINE
}

std::span<const Baseline> baselines() { return kBaselines; }

const Baseline& find_baseline(const std::string& name) { return find_choice(kBaselines, name, "baseline"); }

std::vector<double> centred_scores(const ScoredGroups& groups, const std::string& name) {
  const Baseline& baseline = find_baseline(name);
  COHORT_CHECK(baseline.centred != nullptr, "baseline ", name, " is not one of scores");
  COHORT_CHECK(groups.ends.empty() ? groups.scores.empty()
                                   : groups.ends.back() == static_cast<int64_t>(groups.scores.size()));
  std::vector<double> centred(groups.scores.begin(), groups.scores.end());
  const Spread batch = spread_of(groups.scores, 0);
  for_each_group(groups.scores, groups.ends, [&](size_t g, int64_t begin, std::span<const double> group) {
    const Spread spread = spread_of(group, 0);
    const bool is_constant = baseline.is_of_group && !spread.differs();
    const std::vector<double> own =
        is_constant ? minus_baseline(group, spread.min)
                    : baseline.centred({groups, batch, group, g, static_cast<size_t>(begin)});
    std::copy(own.begin(), own.end(), centred.begin() + begin);
  });
  return centred;
}

}  // namespace cohort
