// What centred scores are divided by, and the second stage over the whole batch. nan is a score that is none.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cohort/objectives/baseline.h"

namespace cohort {

struct ScaleOptions {
  std::string kind = "group";  ///< a line of scales.def
  int64_t ddof = 1;            ///< 1: variances divide by count - 1; 0: by the count
  double epsilon = 1e-4;       ///< added to the divisor, except to beta_density's
};

/// A line of scales.def.
struct Scale {
  const char* name;
  const char* text;

  /// [P] what the centred scores of each group are multiplied by; `options.kind` is not read.
  std::vector<double> (*factors)(std::span<const double> centred, const ScoredGroups& groups,
                                 const ScaleOptions& options);
  bool is_one = false;         ///< leaves scores as they are
  bool is_of_group = false;    ///< made from the group's scores alone
  bool is_often_zero = false;  ///< where most scores of a group are equal
};

/// In the order of scales.def.
std::span<const Scale> scales();

/// Throws InternalError for an unknown name.
const Scale& find_scale(const std::string& name);

/// [N] `centred` divided by: group, std of the group's scores (arXiv:2402.03300); batch, std of all scores
/// (arXiv:2508.08221); batch_centred, std of all of `centred` (arXiv:2501.03262); mad, the group's median
/// absolute deviation (arXiv:2601.22582); beta_density, see beta_density_weights; none, 1. Where nothing
/// differs there is nothing to divide by: exactly 0. Throws ConfigError for beta_density with group means
/// outside [0, 1].
std::vector<double> scaled_scores(std::span<const double> centred, const ScoredGroups& groups,
                                  const ScaleOptions& options);

/// BNPO (arXiv:2506.02864 and its code): 1 / f(p; alpha, beta), at most 1e6, for each group mean p in [0, 1],
/// where alpha = max(1 + a / 3, 1) and beta = max(1 + b / 3, 1), and Beta(a, b) has the means' mean and
/// variance. All 1 when the means do not differ. nan (a group without scores) gives 1.
std::vector<double> beta_density_weights(std::span<const double> group_means, int64_t ddof);

/// (advantage - mean) / (std + epsilon) over all numbers, each of which counts `counts` times (its tokens;
/// empty: once). Exactly 0 where none differ; nan stays nan.
std::vector<double> whitened(std::span<const double> advantages, std::span<const int64_t> counts,
                             int64_t ddof, double epsilon);

}  // namespace cohort
