// Masks of the policy term that follow from a token's own completion. Legend: M packed loss tokens of N
// completions. All masks are constants in the inputs' dtype: 1 keeps, 0 leaves out.
#pragma once

#include <ATen/ATen.h>

#include <optional>

#include "cohort/objectives/segments.h"

namespace cohort {

/// 0 where A < 0 and the completion's mean of behaviour - policy is above `threshold`, else 1; all [M]. A
/// token whose behaviour log-probability is nan counts with difference 0 (arXiv:2512.02556 eq. 9).
at::Tensor off_policy_mask(const at::Tensor& policy_logprobs, const at::Tensor& behaviour_logprobs,
                           const at::Tensor& advantages, const Segments& completions, double threshold);

/// 1 where low <= log_ratio <= high, [M], whatever the advantage (arXiv:2602.02276); a bound that is missing
/// does not act.
at::Tensor log_ratio_band(const at::Tensor& log_ratio, std::optional<double> low, std::optional<double> high);

}  // namespace cohort
