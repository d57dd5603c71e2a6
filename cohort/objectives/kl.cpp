#include "cohort/objectives/kl.h"

#include "cohort/core/error.h"
#include "cohort/objectives/ratio.h"

namespace cohort {

at::Tensor kl_k3(const at::Tensor& policy_logprobs, const at::Tensor& ref_logprobs) {
  const at::Tensor log_ratio = (ref_logprobs.detach() - policy_logprobs).clamp(-kMaxLogRatio, kMaxLogRatio);
  return log_ratio.expm1() - log_ratio;
}

at::Tensor kl_estimate(const std::string& estimator, const at::Tensor& policy_logprobs,
                       const at::Tensor& ref_logprobs) {
  const at::Tensor k1 = policy_logprobs - ref_logprobs.detach();
  if (estimator == "k1") return k1;
  const at::Tensor k2 = 0.5 * k1.square();
  if (estimator == "k2") return k2;
  const at::Tensor k3 = kl_k3(policy_logprobs, ref_logprobs);
  if (estimator == "k3") return k3;
  COHORT_CHECK(estimator == "k3_plus", "estimator is ", estimator);
  return k3.detach() + (k2 - k2.detach());
}

at::Tensor bias_corrected_k3(const at::Tensor& policy_logprobs, const at::Tensor& ref_logprobs,
                             const at::Tensor& ratio) {
  return ratio * kl_k3(policy_logprobs, ref_logprobs);
}

}  // namespace cohort
