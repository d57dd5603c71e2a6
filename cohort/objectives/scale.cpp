#include "cohort/objectives/scale.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "cohort/core/error.h"
#include "cohort/objectives/choices.h"
#include "cohort/objectives/sample_statistics.h"

namespace cohort {
namespace {

constexpr double kMaxBetaWeight = 1e6;

/// 1 / (deviation + epsilon) of each group; 0 where nothing differs.
template <typename Deviation>
std::vector<double> factors_of_groups(const ScoredGroups& groups, const ScaleOptions& options,
                                      Deviation deviation) {
  std::vector<double> factors;
  for_each_group(groups.scores, groups.ends, [&](size_t, int64_t, std::span<const double> group) {
    const bool differs = spread_of(group, 0).differs();
    factors.push_back(differs ? 1.0 / (deviation(group) + options.epsilon) : 0.0);
  });
  return factors;
}

std::vector<double> group_deviations(std::span<const double>, const ScoredGroups& groups,
                                     const ScaleOptions& options) {
  return factors_of_groups(groups, options,
                           [&](std::span<const double> group) { return spread_of(group, options.ddof).std; });
}

std::vector<double> absolute_deviations(std::span<const double>, const ScoredGroups& groups,
                                        const ScaleOptions& options) {
  return factors_of_groups(groups, options, median_absolute_deviation);
}

/// One factor for all groups, from the deviation of `scores`.
std::vector<double> one_factor(std::span<const double> scores, const ScoredGroups& groups,
                               const ScaleOptions& options) {
  const Spread spread = spread_of(scores, options.ddof);
  const double factor = spread.differs() ? 1.0 / (spread.std + options.epsilon) : 0.0;
  return std::vector<double>(groups.ends.size(), factor);
}

std::vector<double> batch_deviation(std::span<const double>, const ScoredGroups& groups,
                                    const ScaleOptions& options) {
  return one_factor(groups.scores, groups, options);
}

std::vector<double> centred_deviation(std::span<const double> centred, const ScoredGroups& groups,
                                      const ScaleOptions& options) {
  return one_factor(centred, groups, options);
}

std::vector<double> ones(std::span<const double>, const ScoredGroups& groups, const ScaleOptions&) {
  return std::vector<double>(groups.ends.size(), 1.0);
}

std::vector<double> beta_densities(std::span<const double>, const ScoredGroups& groups,
                                   const ScaleOptions& options) {
  std::vector<double> means;
  for_each_group(groups.scores, groups.ends, [&](size_t, int64_t, std::span<const double> group) {
    const Spread spread = spread_of(group, 0);
    means.push_back(spread.count > 0 ? spread.mean : std::numeric_limits<double>::quiet_NaN());
    if (spread.mean < 0.0 || spread.mean > 1.0) {
      throw ConfigError(
          str("scale_rewards beta_density is for rewards between 0 and 1, and a group's mean is ",
              spread.mean, ": shift and divide the rewards"));
    }
  });
  return beta_density_weights(means, options.ddof);
}

constexpr auto kScales = std::to_array<Scale>({
#define SCALE(id, words, function, ...) \
  {.name = #id, .text = words, .factors = function __VA_OPT__(, ) __VA_ARGS__},
#include "cohort/objectives/scales.def"
#undef SCALE
});

}  // namespace

std::span<const Scale> scales() { return kScales; }

const Scale& find_scale(const std::string& name) { return find_choice(kScales, name, "scale_rewards"); }

std::vector<double> scaled_scores(std::span<const double> centred, const ScoredGroups& groups,
                                  const ScaleOptions& options) {
  COHORT_CHECK(centred.size() == groups.scores.size());
  const std::vector<double> factors = find_scale(options.kind).factors(centred, groups, options);
  std::vector<double> scaled(centred.begin(), centred.end());
  for_each_group(std::span<double>(scaled), groups.ends, [&](size_t g, int64_t, std::span<double> group) {
    for (double& score : group) score *= factors[g];
  });
  return scaled;
}

std::vector<double> beta_density_weights(std::span<const double> group_means, int64_t ddof) {
  const Spread means = spread_of(group_means, ddof);
  std::vector<double> weights(group_means.size(), 1.0);
  if (!means.differs()) return weights;
  const double precision = means.mean * (1.0 - means.mean) / (means.std * means.std) - 1.0;
  const double alpha = std::max(1.0 + precision * means.mean / 3.0, 1.0);
  const double beta = std::max(1.0 + precision * (1.0 - means.mean) / 3.0, 1.0);
  const double log_norm = std::lgamma(alpha + beta) - std::lgamma(alpha) - std::lgamma(beta);
  for (size_t g = 0; g < weights.size(); ++g) {
    const double p = group_means[g];
    if (std::isnan(p)) continue;
    const double density = std::exp(log_norm) * std::pow(p, alpha - 1.0) * std::pow(1.0 - p, beta - 1.0);
    weights[g] = std::min(1.0 / density, kMaxBetaWeight);
  }
  return weights;
}

std::vector<double> whitened(std::span<const double> advantages, std::span<const int64_t> counts,
                             int64_t ddof, double epsilon) {
  if (counts.empty()) return standard_scores(advantages, ddof, epsilon);
  COHORT_CHECK(counts.size() == advantages.size());
  std::vector<double> repeated;
  for (size_t i = 0; i < counts.size(); ++i) repeated.insert(repeated.end(), counts[i], advantages[i]);
  const Spread spread = spread_of(repeated, ddof);
  std::vector<double> result(advantages.begin(), advantages.end());
  for (double& value : result) {
    if (!std::isnan(value)) value = spread.differs() ? (value - spread.mean) / (spread.std + epsilon) : 0.0;
  }
  return result;
}

}  // namespace cohort
