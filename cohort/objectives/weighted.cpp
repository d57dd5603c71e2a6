#include "cohort/objectives/weighted.h"

namespace cohort {

at::Tensor reinforce_loss(const at::Tensor& policy_logprobs, const at::Tensor& advantages) {
  return -advantages.detach() * policy_logprobs;
}

at::Tensor cispo_loss(const at::Tensor& policy_logprobs, const at::Tensor& ratio,
                      const at::Tensor& advantages, double floor, double cap) {
  return ratio.detach().clamp(floor, cap) * reinforce_loss(policy_logprobs, advantages);
}

}  // namespace cohort
