// One optimizer update's worth of loss: micro-batches forward and backward, gradients added up in the leaves.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cohort/models/decoder.h"
#include "cohort/objectives/objective.h"
#include "cohort/rl/types.h"
#include "cohort/train/packing.h"

namespace cohort {

/// What the loss needs to know of one completion besides its tokens.
struct TrainedCompletion {
  double advantage = 0.0;
  std::vector<float> token_advantages{};  ///< per token, in the place of `advantage`; empty: all have that
  bool is_masked = false;  ///< no loss at all: by a monitor, or truncated under mask_truncated_completions
  std::vector<float> ref_logprobs{};  ///< per token; empty when beta is 0
};

/// A group with the trainer's view of its completions, in the same order.
struct TrainedGroup {
  const RolloutGroup* group;
  std::vector<TrainedCompletion> completions;
};

struct LossOptions {
  double temperature = 1.0;
  int64_t max_completion_length = 0;
  int64_t tokens_per_microbatch = 0;
  bool recompute = false;
  double router_aux_loss_coef = 0.0;
};

/// Of one micro-batch, or sums over those of an update or a step.
struct LossResult {
  ObjectiveMetrics objective;
  RowCounts rows;
  std::optional<double>
      aux_loss;  ///< the weighted load-balancing loss where one is asked for; not in objective.loss
  double entropy_sum = 0.0;
  int64_t num_forwarded_tokens = 0;     ///< loss tokens that were forwarded
  double logprob_difference_sum = 0.0;  ///< |policy - sampler|, over the forwarded tokens
  double logprob_difference_max = 0.0;
  bool is_finite = true;
  std::vector<const Completion*> nonfinite;  ///< the completions of the first micro-batch that was not
};

/// Adds the sums of another micro-batch or update; of those that were not finite the first one's completions
/// are kept.
void add_loss(const LossResult& more, LossResult& total);

/// Adds the gradient of the objective over `groups` (one mini-batch) to the decoder's leaves. Completions
/// that carry no gradient (masked, or advantage exactly 0 without a KL term) count in every normaliser and
/// are not forwarded.
LossResult accumulate_policy_gradient(const Decoder& policy, std::span<const TrainedGroup> groups,
                                      const ObjectiveConfig& objective, const LossOptions& options);

/// Fills `ref_logprobs` of all completions that are not masked.
void fill_ref_logprobs(const Decoder& reference, std::span<TrainedGroup> groups, const LossOptions& options);

}  // namespace cohort
