#include "cohort/objectives/drpo.h"

namespace cohort {

at::Tensor drpo_loss(const at::Tensor& ratio, const at::Tensor& advantages, const at::Tensor& anchor_logprobs,
                     double delta) {
  const at::Tensor constant = advantages.detach();
  const at::Tensor penalty = constant.abs() * anchor_logprobs.detach().exp() / (2.0 * delta);
  return penalty * (ratio - 1.0).square() - constant * ratio;
}

}  // namespace cohort
