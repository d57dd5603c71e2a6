#include "cohort/objectives/ratio.h"

namespace cohort {

at::Tensor importance_ratio(const at::Tensor& policy_logprobs, const at::Tensor& old_logprobs) {
  return (policy_logprobs - old_logprobs.detach()).clamp(-kMaxLogRatio, kMaxLogRatio).exp();
}

}  // namespace cohort
