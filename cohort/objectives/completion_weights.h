// How per-token losses become one number: a weight for the tokens of each completion; the loss is the sum of
// weight times token loss. Legend: N completions of P groups.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cohort/objectives/loss_config.h"

namespace cohort {

/// What the normalisers of all terms are counted from: the whole batch of one optimizer step.
struct LossCounts {
  int64_t num_completions = 0;  ///< every completion: empty, masked, unscorable and zero-std ones too
  int64_t num_loss_tokens = 0;  ///< none of a masked completion, all of an unscorable one
  int64_t num_groups = 0;
  int64_t num_micro_batches = 1;   ///< token_mean_scope "micro_batch" averages over these
  int64_t num_entropy_tokens = 0;  ///< tokens that the entropy bonus acts on
  int64_t num_nll_tokens = 0;      ///< tokens that the likelihood term acts on
  int64_t num_reply_tokens = 0;    ///< tokens that ECHO's term acts on
  int64_t num_pairs = 0;           ///< pairs of DPO's term
  int64_t num_contrasts = 0;       ///< groups that take part in a surrogate of groups
};

/// What an aggregation's function is given.
struct TokenCounts {
  const std::vector<int64_t>& lengths;     ///< [N] loss tokens
  const std::vector<int64_t>& group_ends;  ///< [P]
  const LossCounts& whole;                 ///< of the whole batch
};

/// A line of aggregations.def.
struct Aggregation {
  const char* name;
  const char* text;
  at::Tensor (*weights)(const TokenCounts& counts, const LossConfig& config);  ///< see completion_weights
  bool is_token_mean = false;                                                  ///< reads token_mean_scope
  bool is_for_token_ratios = false;  ///< would count one ratio of a sequence as often as it has tokens
  bool reads_max_completion_length = false;  ///< which must then be set
};

/// In the order of aggregations.def.
std::span<const Aggregation> aggregations();

/// Throws InternalError for an unknown name.
const Aggregation& find_aggregation(const std::string& name);

/// The weight of each token of a completion with `lengths` loss tokens, [N] float64, by `config.aggregation`
/// and `token_mean_scope`; constant. A completion without tokens counts as a completion. `group_ends` is read
/// for the scope "group"; the scope "micro_batch" takes `lengths` as one micro-batch. Throws ConfigError
/// where seq_mean_token_sum_norm has no max_completion_length.
at::Tensor completion_weights(const std::vector<int64_t>& lengths, const std::vector<int64_t>& group_ends,
                              const LossConfig& config, const LossCounts& counts);

/// f_i = G * softmax over the group of h_i^lambda, h = max(1 + z / 9, 1e-3),
/// z = (length - mean) / (std + 1e-4) with Bessel's std, 0 where all lengths are equal: [N] float64, mean 1
/// in each group, all 1 at lambda 0. `preference` is lambda, a float64 scalar through which the gradient
/// flows (lambda-GRPO, arXiv:2510.06870). The lengths of whole groups.
at::Tensor length_preference_weights(const std::vector<int64_t>& lengths,
                                     const std::vector<int64_t>& group_ends, const at::Tensor& preference);

}  // namespace cohort
