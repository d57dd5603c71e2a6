// Estimates of KL(policy || reference) per token from its log-probability under both. M = loss tokens of the
// micro-batch.
#pragma once

#include <ATen/ATen.h>

#include <span>
#include <string>

namespace cohort {

/// A line of kl_estimators.def.
struct KlEstimator {
  const char* name;
  const char* text;
  at::Tensor (*estimate)(const at::Tensor& policy_logprobs, const at::Tensor& ref_logprobs);
  bool has_zero_mean_gradient = false;  ///< as a loss on samples of the policy
  bool has_bias_correction = false;     ///< use_bias_correction_kl multiplies it by the ratio
};

/// In the order of kl_estimators.def.
std::span<const KlEstimator> kl_estimators();

/// Throws InternalError for an unknown name.
const KlEstimator& find_kl_estimator(const std::string& name);

/// k3 = exp(x) - x - 1 with x = ref_logprobs - policy_logprobs, by expm1 and with x clamped to +-20 nats; [M]
/// in the inputs' dtype. Gradient 1 - exp(x) flows through `policy_logprobs` (arXiv:2402.03300 eq. 4;
/// TRL 1.16 by default multiplies by the ratio, which this does not).
at::Tensor kl_k3(const at::Tensor& policy_logprobs, const at::Tensor& ref_logprobs);

/// With x = policy_logprobs - ref_logprobs: "k1" x, "k2" x^2 / 2, "k3" kl_k3, "k3_plus" the value of k3 with
/// the gradient of k2; [M] in the inputs' dtype, gradient through `policy_logprobs`. As a loss on policy k1
/// has expected gradient 0, k2 and k3_plus descend KL(policy || reference), k3 descends KL(reference ||
/// policy) (http://joschu.net/blog/kl-approx.html).
at::Tensor kl_estimate(const std::string& estimator, const at::Tensor& policy_logprobs,
                       const at::Tensor& ref_logprobs);

/// ratio * k3, all [M]; gradient flows through both, and is ratio * x: that of KL(policy || reference) for
/// tokens of the ratio's anchor (arXiv:2512.02556). `ratio` is the token's own.
at::Tensor bias_corrected_k3(const at::Tensor& policy_logprobs, const at::Tensor& ref_logprobs,
                             const at::Tensor& ratio);

}  // namespace cohort
