#include "cohort/objectives/weighted.h"

namespace cohort {

at::Tensor reinforce_loss(const at::Tensor& policy_logprobs, const at::Tensor& advantages) {
  return -advantages.detach() * policy_logprobs;
}

}  // namespace cohort
