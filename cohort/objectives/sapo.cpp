#include "cohort/objectives/sapo.h"

namespace cohort {

at::Tensor sapo_loss(const at::Tensor& ratio, const at::Tensor& advantages, double temperature_pos,
                     double temperature_neg) {
  const at::Tensor temperature =
      at::full_like(advantages, temperature_neg).masked_fill(advantages > 0, temperature_pos);
  return -(4.0 / temperature) * (temperature * (ratio - 1.0)).sigmoid() * advantages.detach();
}

}  // namespace cohort
