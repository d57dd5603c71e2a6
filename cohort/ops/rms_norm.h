// Root mean square normalisation, arXiv:1910.07467 eq. 4.
#pragma once

#include <ATen/ATen.h>

#include "cohort/ops/input_op.h"

namespace cohort {

/// A master weight [D] and how it is used: y = x / sqrt(mean(x^2) + epsilon) * (offset + weight). Gemma's
/// norms have the offset 1. An undefined weight stands for no norm.
struct RmsNorm {
  at::Tensor weight;
  double epsilon = 1e-6;
  double offset = 0.0;

  bool defined() const { return weight.defined(); }

  /// The same norm, which later changes of the weight don't reach. Carries no gradient.
  RmsNorm frozen_copy() const { return {defined() ? weight.detach().clone() : weight, epsilon, offset}; }

  /// offset + weight as the forward multiplies with it: the weight rounded as x is, [D] float32 (float64
  /// stays).
  at::Tensor scale(at::ScalarType compute) const;
};

/// The norm over the last dim of `x` [N, D] (float32 or bfloat16), computed in float32 and rounded once.
/// Gradient to x and the weight.
at::Tensor rms_norm(const at::Tensor& x, const RmsNorm& norm);

/// The same as what a product reads.
InputOp normed_input(const RmsNorm& norm);

}  // namespace cohort
