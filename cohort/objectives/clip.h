// The clipped surrogate of PPO with separate lower and upper widths (arXiv:1707.06347 eq. 7; "clip-higher" is
// arXiv:2503.14476 eq. 10). M = loss tokens of the micro-batch.
#pragma once

#include <ATen/ATen.h>

namespace cohort {

struct ClippedSurrogate {
  at::Tensor loss;          ///< [M] in the ratio's dtype, to be minimised; carries the ratio's gradient
  at::Tensor low_clipped;   ///< [M] bool: ratio < 1 - epsilon and advantage < 0, so no gradient
  at::Tensor high_clipped;  ///< [M] bool: ratio > 1 + epsilon_high and advantage > 0, so no gradient
};

/// -min(ratio * A, clamp(ratio, 1 - epsilon, 1 + epsilon_high) * A) per token; ratio [M] float (gradient),
/// advantages [M] float (constant); the masks follow TRL's `clip_ratio/*` (arXiv:1707.06347 eq. 7).
ClippedSurrogate clipped_surrogate(const at::Tensor& ratio, const at::Tensor& advantages, double epsilon,
                                   double epsilon_high);

}  // namespace cohort
