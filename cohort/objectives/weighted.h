// The policy term that others weigh by a constant: REINFORCE. M = loss tokens of the micro-batch.
#pragma once

#include <ATen/ATen.h>

namespace cohort {

/// -A * logp per token, [M] in the inputs' dtype; gradient flows through `policy_logprobs` [M], `advantages`
/// [M] are constants (Williams 1992).
at::Tensor reinforce_loss(const at::Tensor& policy_logprobs, const at::Tensor& advantages);

}  // namespace cohort
