#include "cohort/objectives/kl.h"

#include "cohort/objectives/ratio.h"

namespace cohort {

at::Tensor kl_k3(const at::Tensor& policy_logprobs, const at::Tensor& ref_logprobs) {
  const at::Tensor log_ratio = (ref_logprobs.detach() - policy_logprobs).clamp(-kMaxLogRatio, kMaxLogRatio);
  return log_ratio.expm1() - log_ratio;
}

}  // namespace cohort
