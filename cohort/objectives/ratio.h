// The importance ratio between the policy that is trained and the one that sampled (PPO, arXiv:1707.06347 eq.
// 6). M = loss tokens of the micro-batch.
#pragma once

#include <ATen/ATen.h>

namespace cohort {

/// Log-ratios are clamped to plus and minus this many nats before exp, which keeps every ratio finite.
inline constexpr double kMaxLogRatio = 20.0;

/// rho = exp(clamp(policy_logprobs - old_logprobs)), [M] in the inputs' dtype; both inputs [M]. Gradient
/// flows through `policy_logprobs` and is 0 where the clamp acts; exactly 1 where both are equal
/// (arXiv:1707.06347 eq. 6).
at::Tensor importance_ratio(const at::Tensor& policy_logprobs, const at::Tensor& old_logprobs);

}  // namespace cohort
