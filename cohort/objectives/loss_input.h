// What the loss reads. Legend: M loss tokens, packed completion behind completion, of N completions of P
// groups; tokens without loss are not passed at all.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "cohort/objectives/completion_weights.h"

namespace cohort {

/// Masks that only the whole batch can say, [M] each; undefined where no setting asks for them.
struct BatchMasks {
  at::Tensor policy;   ///< 0 where Clip-Cov or M2PO takes the policy term out
  at::Tensor entropy;  ///< 0 where top_entropy_quantile takes it and the entropy bonus out
  at::Tensor kl_cov;   ///< 1 where KL-Cov's penalty acts
};

/// What a micro-batch must know of the batch that it was cut from.
struct WholeBatch {
  LossCounts counts;
  BatchMasks masks;               ///< of the micro-batch's tokens
  at::Tensor completion_weights;  ///< [N] float64, of the micro-batch's completions
  double kl_budget_weight = 0.0;  ///< max(kl_budget_coef * (KL - kl_budget), 0)
};

/// All tensors lie on one device, those of [M] and [N] numbers in one dtype, float32 or float64; undefined
/// where absent. Gradient flows through `policy_logprobs`, `reply_logprobs`, `entropies`, `values` and
/// `length_preference` alone.
struct LossInput {
  at::Tensor policy_logprobs;             ///< [M], natural log at the sampling temperature
  at::Tensor advantages;                  ///< [N], or [M] where `advantages_are_per_token`
  bool advantages_are_per_token = false;  ///< says which, where N and M are equal, too
  std::vector<int64_t> lengths;           ///< [N] loss tokens of each completion, 0 allowed; they add up to M

  at::Tensor old_logprobs;       ///< [M], before the update; absent: the policy's own
  at::Tensor sampler_logprobs;   ///< [M], as the sampler gave them; nan where it could not
  at::Tensor ref_logprobs;       ///< [M], of the reference
  at::Tensor entropies;          ///< [M], of the policy's distribution at each token; masks need no gradient
  at::Tensor values;             ///< [M], of the critic
  at::Tensor old_values;         ///< [M], of the critic before the update
  at::Tensor returns;            ///< [M], what the critic is to predict
  at::Tensor reply_logprobs;     ///< [R], of the environment's replies in these completions, in any order
  at::Tensor rewards;            ///< [N], nan where there is none
  at::Tensor betas;              ///< [N], KL weight of each completion in place of `beta`
  at::Tensor length_preference;  ///< float64 scalar in place of the setting of that name
  std::optional<double> entropy_coef;  ///< in place of the setting; at 0 the bonus is measured, too

  std::vector<int64_t> group_ends;    ///< groups are adjacent completions that end before these
  std::vector<int64_t> turn_lengths;  ///< loss tokens of each turn, in order; no turn crosses completions
  std::vector<uint8_t>
      is_demonstration;  ///< [N], 1 where another policy wrote the completion; empty: nowhere

  std::optional<int64_t>
      num_items_in_batch;           ///< loss tokens that token_mean divides by, where not counted here
  int64_t num_reply_tokens = 0;     ///< R of the whole batch, for ECHO's term
  uint64_t seed = 0;                ///< of Clip-Cov's draw
  std::optional<WholeBatch> whole;  ///< absent: this is the whole batch
};

/// Throws InternalError for wrong shapes and ConfigError naming what `config` needs and the input lacks.
void check_loss_input(const LossInput& input, const LossConfig& config);

/// The same for what whole_batch_of reads.
void check_batch_input(const LossInput& input, const LossConfig& config);

/// The given completions of the batch, in ascending order, with its `whole`, as a micro-batch; gradient flows
/// through it. Neighbours of one group are one group and a group that is cut is several, so cut between
/// groups where needs_whole_groups says so.
LossInput select_completions(const LossInput& batch, const std::vector<int64_t>& completions);

/// Whether a term couples the completions of a group: micro-batches must then hold whole groups.
bool needs_whole_groups(const LossConfig& config);

}  // namespace cohort
