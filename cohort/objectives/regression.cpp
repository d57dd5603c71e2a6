#include "cohort/objectives/regression.h"

namespace cohort {

at::Tensor regression_loss(const at::Tensor& log_ratio, const at::Tensor& advantages,
                           const Segments& completions, double tau) {
  const at::Tensor implicit = completions.expand(completions.sum(log_ratio)) * tau;
  return (advantages.detach() - implicit).square();
}

}  // namespace cohort
