#include "cohort/objectives/scale.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cohort/core/error.h"
#include "cohort/objectives/sample_statistics.h"

namespace cohort {
namespace {

constexpr double kMaxBetaWeight = 1e6;

/// What the scores of one group are multiplied by; 0 where nothing differs.
std::vector<double> beta_factors(const ScoredGroups& groups, int64_t ddof) {
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
  return beta_density_weights(means, ddof);
}

double group_divisor(std::span<const double> group, const ScaleOptions& options) {
  if (options.kind == "mad") return median_absolute_deviation(group) + options.epsilon;
  return spread_of(group, options.ddof).std + options.epsilon;
}

/// [P] factors.
std::vector<double> group_factors(std::span<const double> centred, const ScoredGroups& groups,
                                  const ScaleOptions& options) {
  const size_t num_groups = groups.ends.size();
  if (options.kind == "none") return std::vector<double>(num_groups, 1.0);
  if (options.kind == "beta_density") return beta_factors(groups, options.ddof);
  if (options.kind == "batch" || options.kind == "batch_centred") {
    const Spread spread = spread_of(options.kind == "batch" ? groups.scores : centred, options.ddof);
    return std::vector<double>(num_groups, spread.differs() ? 1.0 / (spread.std + options.epsilon) : 0.0);
  }
  COHORT_CHECK(options.kind == "group" || options.kind == "mad", options.kind);
  std::vector<double> factors;
  for_each_group(groups.scores, groups.ends, [&](size_t, int64_t, std::span<const double> group) {
    factors.push_back(spread_of(group, 0).differs() ? 1.0 / group_divisor(group, options) : 0.0);
  });
  return factors;
}

}  // namespace

std::vector<double> scaled_scores(std::span<const double> centred, const ScoredGroups& groups,
                                  const ScaleOptions& options) {
  COHORT_CHECK(centred.size() == groups.scores.size());
  const std::vector<double> factors = group_factors(centred, groups, options);
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
