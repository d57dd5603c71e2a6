// Demonstrations: completions of the data, which another policy wrote (LUFFY, arXiv:2504.14945). M = loss
// tokens of the micro-batch.
#pragma once

#include <ATen/ATen.h>

namespace cohort {

/// -A * p / (p + gamma) per token with p = exp(policy_logprobs), [M], through which the gradient flows:
/// tokens of a demonstration count as drawn with certainty, and unlikely ones get the larger share
/// (arXiv:2504.14945, gamma 0.1).
at::Tensor shaped_demonstration_loss(const at::Tensor& policy_logprobs, const at::Tensor& advantages,
                                     double gamma);

}  // namespace cohort
