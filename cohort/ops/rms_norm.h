// Root mean square normalisation, arXiv:1910.07467 eq. 4.
#pragma once

#include <ATen/ATen.h>

namespace cohort {

/// y = x / sqrt(mean(x^2) + epsilon) * weight over the last dim of `x` [N, D] (float32 or bfloat16), computed
/// in float32 and rounded once; `weight` [D] is a master parameter, rounded as x is. Gradient to x and
/// weight.
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double epsilon);

}  // namespace cohort
