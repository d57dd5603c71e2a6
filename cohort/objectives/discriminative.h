// The discriminative loss of a group (decoupled reward policy optimisation, arXiv:2510.04474). Legend: M
// packed loss tokens of N completions of P groups.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

#include "cohort/objectives/loss_config.h"
#include "cohort/objectives/segments.h"

namespace cohort {

/// The sum over contrasts, groups that have both right and wrong completions, of
///   tau * log mean over wrong exp(s / tau) - sum over right w s / sum over right w
/// with s = the completion's mean log-probability, w = exp((1 - length / max_completion_length) / lambda); a
/// scalar with gradient through `policy_logprobs` [M]. `rewards` [N] above `positive_threshold` are right;
/// nan is neither. A completion without tokens is neither. The loss is this sum over num_contrasts.
at::Tensor discriminative_loss_sum(const at::Tensor& policy_logprobs, const at::Tensor& rewards,
                                   const Segments& completions, const std::vector<int64_t>& group_ends,
                                   const LossConfig& config);

/// How many groups have both right and wrong completions.
int64_t num_contrasts(const at::Tensor& rewards, const Segments& completions,
                      const std::vector<int64_t>& group_ends, const LossConfig& config);

}  // namespace cohort
