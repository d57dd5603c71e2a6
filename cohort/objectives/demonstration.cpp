#include "cohort/objectives/demonstration.h"

namespace cohort {

at::Tensor shaped_demonstration_loss(const at::Tensor& policy_logprobs, const at::Tensor& advantages,
                                     double gamma) {
  const at::Tensor p = policy_logprobs.exp();
  return -advantages.detach() * p / (p + gamma);
}

}  // namespace cohort
