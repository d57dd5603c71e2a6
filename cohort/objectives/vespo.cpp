#include "cohort/objectives/vespo.h"

#include <algorithm>
#include <cmath>

#include "cohort/objectives/ratio.h"

namespace cohort {

at::Tensor vespo_weights(const at::Tensor& log_ratio, const at::Tensor& advantages,
                         const at::Tensor& mismatch_weights, const Segments& completions,
                         const VespoShape& shape) {
  const double lowest = std::log(1e-8);
  at::Tensor log_weight = log_ratio.detach().clamp(-kMaxLogRatio, kMaxLogRatio);
  if (mismatch_weights.defined())
    log_weight = log_weight + mismatch_weights.detach().log().clamp(lowest, kMaxLogRatio);
  const at::Tensor log_w = completions.expand(completions.sum(log_weight)).clamp(lowest, kMaxLogRatio);
  const at::Tensor is_positive = advantages >= 0;
  const at::Tensor k = at::full_like(log_w, shape.k_neg).masked_fill(is_positive, shape.k_pos);
  const at::Tensor lambda = at::full_like(log_w, std::max(shape.lambda_neg, 1e-4))
                                .masked_fill(is_positive, std::max(shape.lambda_pos, 1e-4));
  return (lambda + k * log_w - lambda * log_w.exp()).exp();
}

}  // namespace cohort
