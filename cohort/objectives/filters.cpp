#include "cohort/objectives/filters.h"

#include <limits>

namespace cohort {

at::Tensor off_policy_mask(const at::Tensor& policy_logprobs, const at::Tensor& behaviour_logprobs,
                           const at::Tensor& advantages, const Segments& completions, double threshold) {
  const at::Tensor behaviour = behaviour_logprobs.detach();
  const at::Tensor drift = (behaviour - policy_logprobs.detach()).masked_fill(behaviour.isnan(), 0.0);
  const at::Tensor mean_drift = completions.expand(completions.mean(drift));
  return (advantages >= 0).logical_or(mean_drift <= threshold).to(drift.scalar_type());
}

at::Tensor log_ratio_band(const at::Tensor& log_ratio, std::optional<double> low,
                          std::optional<double> high) {
  const double unbounded = std::numeric_limits<double>::infinity();
  const at::Tensor constant = log_ratio.detach();
  return (constant >= low.value_or(-unbounded))
      .logical_and(constant <= high.value_or(unbounded))
      .to(constant.scalar_type());
}

}  // namespace cohort
