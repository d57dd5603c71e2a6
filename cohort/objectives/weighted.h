// Policy terms that weigh -A log p by a constant: REINFORCE and CISPO. M = loss tokens of the micro-batch.
#pragma once

#include <ATen/ATen.h>

namespace cohort {

/// -A * logp per token, [M] in the inputs' dtype; gradient flows through `policy_logprobs` [M], `advantages`
/// [M] are constants (Williams 1992).
at::Tensor reinforce_loss(const at::Tensor& policy_logprobs, const at::Tensor& advantages);

/// -stop_gradient(clamp(ratio, floor, cap)) * A * logp per token, all [M]; gradient flows through
/// `policy_logprobs` alone. `cap` is the bound itself, not 1 + epsilon (arXiv:2506.13585 eq. 4 and 5).
at::Tensor cispo_loss(const at::Tensor& policy_logprobs, const at::Tensor& ratio,
                      const at::Tensor& advantages, double floor, double cap);

}  // namespace cohort
