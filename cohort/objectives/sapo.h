// Soft clipping by a sigmoid gate (SAPO, arXiv:2511.20347). M = loss tokens of the micro-batch.
#pragma once

#include <ATen/ATen.h>

namespace cohort {

/// -(4 / tau) * sigmoid(tau * (ratio - 1)) * A per token, tau = `temperature_pos` where A > 0, else
/// `temperature_neg`; ratio [M] carries the gradient, advantages [M] are constants. At ratio 1 the gradient
/// is that of REINFORCE, the value is -(2 / tau) * A (arXiv:2511.20347).
at::Tensor sapo_loss(const at::Tensor& ratio, const at::Tensor& advantages, double temperature_pos,
                     double temperature_neg);

}  // namespace cohort
