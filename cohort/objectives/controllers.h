// Coefficients that follow a measured value from step to step; pure functions of the last value.
#pragma once

#include <cstdint>

namespace cohort {

/// beta * (1 + clamp(kl / target - 1, -0.2, 0.2) * num_completions / horizon): the proportional controller of
/// arXiv:1909.08593. `target` and `horizon` are positive.
double adapted_beta(double beta, double kl, double target, int64_t num_completions, double horizon);

/// How the entropy coefficient moves (arXiv:2505.22312; TRL 1.16's defaults).
struct EntropyControl {
  double target = 0.2;
  double step = 0.005;
  double smallest = 0.0;
  double largest = 1.0;
};

/// One step up where the mean entropy is at most the target, else one step down, within the bounds.
double adapted_entropy_coef(double coefficient, double entropy, const EntropyControl& control);

/// The coefficient that the loss uses: `coefficient` where the last step's entropy is at most the target,
/// else 0.
double applied_entropy_coef(double coefficient, double entropy, const EntropyControl& control);

/// How the factor of a reward's weight moves (POW3R, arXiv:2605.20164; the numbers are ours).
struct FactorControl {
  double prior = 0.5;  ///< share of 1 in what the factor moves to
  double decay = 0.9;  ///< share of the factor that stays
  double smallest = 0.25;
  double largest = 4.0;
};

/// clip(decay * factor + (1 - decay) * (prior + (1 - prior) * ratio)), `ratio` the reward's variance over the
/// mean of its category.
double adapted_factor(double factor, double ratio, const FactorControl& control);

}  // namespace cohort
