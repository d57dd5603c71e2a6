// DPO's loss on pairs of completions of a group (arXiv:2305.18290; in a group's loss arXiv:2601.03661).
// Legend: N completions of P groups.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

#include "cohort/objectives/loss_config.h"
#include "cohort/objectives/segments.h"

namespace cohort {

struct PreferencePairs {
  std::vector<int64_t> winners;  ///< indices of completions
  std::vector<int64_t> losers;   ///< of the same length
};

/// The pairs of each group whose rewards differ by more than `config.dpo_margin`: all, or the best with the
/// worst, all that tie (`dpo_pairs`). `rewards` [N] float; a completion whose reward is nan or that has no
/// tokens is in no pair.
PreferencePairs preference_pairs(const at::Tensor& rewards, const std::vector<int64_t>& lengths,
                                 const std::vector<int64_t>& group_ends, const LossConfig& config);

/// A completion's log-probability, [N]: the sum over its tokens, or their mean under `dpo_length_normalized`;
/// of log policy, or of log policy - log reference unless `dpo_reference_free`. Gradient through
/// `policy_logprobs` [M].
at::Tensor pair_logprobs(const at::Tensor& policy_logprobs, const at::Tensor& ref_logprobs,
                         const Segments& completions, const LossConfig& config);

/// The sum over pairs of -log sigmoid(beta * (winner's - loser's)), a scalar; `logprobs` [N] carries the
/// gradient (arXiv:2305.18290 eq. 7). 0 without pairs.
at::Tensor pair_loss_sum(const at::Tensor& logprobs, const PreferencePairs& pairs, double beta);

}  // namespace cohort
