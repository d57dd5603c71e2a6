// The clipped surrogate of PPO with separate lower and upper widths (arXiv:1707.06347 eq. 7; "clip-higher" is
// arXiv:2503.14476 eq. 10), each of which may be missing, and with a cap for negative advantages. M = loss
// tokens of the micro-batch.
#pragma once

#include <ATen/ATen.h>

#include <optional>

namespace cohort {

struct ClippedSurrogate {
  at::Tensor loss;          ///< [M] in the ratio's dtype, to be minimised; carries the ratio's gradient
  at::Tensor low_clipped;   ///< [M] bool: ratio < low and advantage < 0, so no gradient
  at::Tensor high_clipped;  ///< [M] bool: ratio > high and advantage > 0, so no gradient
};

/// -min(ratio * A, clamp(ratio, 1 - epsilon, 1 + epsilon_high) * A) per token; ratio [M] float (gradient),
/// advantages [M] float (constant); the masks follow TRL's `clip_ratio/*` (arXiv:1707.06347 eq. 7).
ClippedSurrogate clipped_surrogate(const at::Tensor& ratio, const at::Tensor& advantages, double epsilon,
                                   double epsilon_high);

/// Bounds of the ratio; one that is missing does not act.
struct ClipBounds {
  std::optional<double> low;   ///< 1 - epsilon
  std::optional<double> high;  ///< 1 + epsilon_high
  std::optional<double> cap;   ///< for negative advantages: delta of arXiv:2505.07291, dual-clip's c
};

/// -min(min(ratio, cap) * A, clamp(ratio, low, high) * A) per token; shapes and gradient as above, gradient 0
/// also where A < 0 and ratio > max(cap, high) (arXiv:2505.07291).
ClippedSurrogate clipped_surrogate(const at::Tensor& ratio, const at::Tensor& advantages,
                                   const ClipBounds& bounds);

}  // namespace cohort
