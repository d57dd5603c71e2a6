// The critic's loss (PPO, arXiv:1707.06347 section 5, with the clipped value of its reference code). M = loss
// tokens of the micro-batch.
#pragma once

#include <ATen/ATen.h>

namespace cohort {

/// 0.5 * max((v - ret)^2, (clamp(v, v_old - clip, v_old + clip) - ret)^2) per token, [M]; `values` [M] carry
/// the gradient, `old_values` and `returns` [M] are constants.
at::Tensor clipped_value_loss(const at::Tensor& values, const at::Tensor& old_values,
                              const at::Tensor& returns, double clip);

}  // namespace cohort
