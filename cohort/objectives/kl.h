// The k3 estimate of KL(policy || reference) per token, as in the loss of GRPO (arXiv:2402.03300 eq. 4).
// M = loss tokens of the micro-batch.
#pragma once

#include <ATen/ATen.h>

namespace cohort {

/// k3 = exp(x) - x - 1 with x = ref_logprobs - policy_logprobs, by expm1 and with x clamped to +-20 nats; [M]
/// in the inputs' dtype. Gradient 1 - exp(x) flows through `policy_logprobs` (arXiv:2402.03300 eq. 4;
/// TRL 1.16 by default multiplies by the ratio, which this does not).
at::Tensor kl_k3(const at::Tensor& policy_logprobs, const at::Tensor& ref_logprobs);

}  // namespace cohort
