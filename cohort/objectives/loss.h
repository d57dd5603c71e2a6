// The loss of the GRPO family, composed of the pieces in this folder. Legend as in loss_input.h.
#pragma once

#include <ATen/ATen.h>

#include "cohort/objectives/loss_input.h"
#include "cohort/objectives/loss_metrics.h"

namespace cohort {

struct LossOutput {
  at::Tensor
      loss;  ///< scalar in the dtype of the log-probabilities; add up over micro-batches, do not average
  LossMetrics metrics;
};

/// sum over tokens of weight * (policy term * masks * mismatch weight + beta * KL + penalties), plus the
/// terms that have normalisers of their own (entropy, critic, likelihood, pairs, groups, budget). Gradient
/// flows through `policy_logprobs`, `entropies`, `values` and `length_preference`. Throws ConfigError for a
/// setting that is refused or lacks its input, InternalError for wrong shapes.
LossOutput policy_loss(const LossInput& input, const LossConfig& config);

}  // namespace cohort
