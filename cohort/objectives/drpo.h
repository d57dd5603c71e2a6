// A smooth trust region in the token's probability (DRPO, arXiv:2606.09821). M = loss tokens of the
// micro-batch.
#pragma once

#include <ATen/ATen.h>

namespace cohort {

/// -A * r + |A| * mu * (r - 1)^2 / (2 * delta) per token, with mu = exp(anchor_logprobs); ratio r [M] carries
/// the gradient, whose weight beside REINFORCE's is r * (1 - sign(A (r - 1)) |p - mu| / delta); the rest is
/// constant.
at::Tensor drpo_loss(const at::Tensor& ratio, const at::Tensor& advantages, const at::Tensor& anchor_logprobs,
                     double delta);

}  // namespace cohort
