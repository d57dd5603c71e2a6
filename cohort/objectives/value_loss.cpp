#include "cohort/objectives/value_loss.h"

namespace cohort {

at::Tensor clipped_value_loss(const at::Tensor& values, const at::Tensor& old_values,
                              const at::Tensor& returns, double clip) {
  const at::Tensor old = old_values.detach();
  const at::Tensor target = returns.detach();
  const at::Tensor clipped = old + (values - old).clamp(-clip, clip);
  return 0.5 * at::maximum((values - target).square(), (clipped - target).square());
}

}  // namespace cohort
