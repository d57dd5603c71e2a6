// How per-token losses become one number: a weight per token, counted over the whole mini-batch of all ranks
// before the first backward pass, so that cutting the mini-batch into micro-batches changes nothing.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cohort {

enum class LossType {
  kGrpo,    ///< mean over completions of the mean over their tokens (arXiv:2402.03300 eq. 3)
  kDapo,    ///< mean over all tokens of the mini-batch (arXiv:2503.14476 eq. 8)
  kDrGrpo,  ///< sum over tokens / (completions * max_completion_length) (arXiv:2503.20783 section 3.2)
};

/// Reads "grpo", "dapo" or "dr_grpo". Throws ConfigError for anything else.
LossType parse_loss_type(const std::string& name);

/// What the normalisers are counted from: all completions of one optimizer step, over all ranks.
struct BatchCounts {
  int64_t num_completions =
      0;  ///< every completion: empty, truncated-and-masked, unscorable and zero-std ones too
  int64_t num_loss_tokens =
      0;  ///< tokens that carry loss: none of a masked completion, all of an unscorable one
};

/// Adds up the counts; `loss_lengths` holds the loss tokens of every completion, 0 where it is empty or
/// masked.
BatchCounts count_batch(std::span<const int64_t> loss_lengths);

/// The weight of each loss token of a completion with `loss_length` of them; the loss of the mini-batch is
/// the sum of weight * per-token loss. `max_completion_length` (tokens) is used by dr_grpo only.
double token_weight(LossType loss_type, int64_t loss_length, const BatchCounts& counts,
                    int64_t max_completion_length);

}  // namespace cohort
