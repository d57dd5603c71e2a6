// The gamma-shaped weight of a whole sequence (VESPO, arXiv:2602.10693, as in the authors' code). Legend: M
// packed loss tokens of N completions.
#pragma once

#include <ATen/ATen.h>

#include "cohort/objectives/segments.h"

namespace cohort {

/// The exponent and the decay of the weight for advantages of at least 0 and for the others.
struct VespoShape {
  double k_pos, lambda_pos, k_neg, lambda_neg;
};

/// phi(W) = exp(lambda) * W^k * exp(-lambda * W) per token, [M], a constant with phi(1) = 1. W is the product
/// of the completion's ratios exp(log_ratio), and of `mismatch_weights` [M] where they are defined.
/// Log-ratios are clamped to +-20, logs of mismatch weights and log W to [log 1e-8, 20], lambda is at least
/// 1e-4.
at::Tensor vespo_weights(const at::Tensor& log_ratio, const at::Tensor& advantages,
                         const at::Tensor& mismatch_weights, const Segments& completions,
                         const VespoShape& shape);

}  // namespace cohort
