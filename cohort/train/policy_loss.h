// One optimizer update's worth of loss: micro-batches forward and backward, gradients added up in the leaves.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "cohort/models/decoder.h"
#include "cohort/objectives/loss_metrics.h"
#include "cohort/objectives/presets.h"
#include "cohort/rl/types.h"
#include "cohort/train/loss_part.h"
#include "cohort/train/packing.h"

namespace cohort {

/// What the loss needs to know of one completion besides its tokens.
struct TrainedCompletion {
  double advantage = 0.0;
  std::vector<float> token_advantages{};  ///< per token, in the place of `advantage`; empty: all have that
  bool is_masked = false;  ///< no loss at all: by a monitor, or truncated under mask_truncated_completions
  std::vector<float> ref_logprobs{};  ///< per token; empty without a reference
  std::vector<float> entropies{};  ///< per token, of the policy that sampled; empty where nothing reads them
  double reward = std::numeric_limits<double>::quiet_NaN();  ///< nan: there is none
  std::vector<float> values{};   ///< per token, the critic's before the update; empty without a critic
  std::vector<float> returns{};  ///< per token, what the critic learns
  bool is_expert = false;        ///< another policy wrote it: its sampler_logprobs say nothing
};

/// A group with the trainer's view of its completions, in the same order.
struct TrainedGroup {
  const RolloutGroup* group;
  std::vector<TrainedCompletion> completions;
  std::optional<double> beta{};  ///< weight of the KL in place of the setting's: of all groups or of none
};

/// Calls f(completion, trained) for all completions of `groups`.
template <typename F>
void for_each_completion(std::span<const TrainedGroup> groups, F f) {
  for (const TrainedGroup& group : groups) {
    for (size_t i = 0; i < group.completions.size(); ++i)
      f(group.group->completions[i], group.completions[i]);
  }
}

/// Of the completions of all groups side by side, the one behind each group's last.
std::vector<int64_t> group_ends_of(std::span<const TrainedGroup> groups);

/// The KL's weight of each completion; empty where the groups have none of their own.
inline std::vector<double> betas_of(std::span<const TrainedGroup> groups) {
  std::vector<double> betas;
  for (const TrainedGroup& group : groups) {
    if (group.beta) betas.insert(betas.end(), group.completions.size(), *group.beta);
  }
  return betas;
}

struct LossOptions {
  double temperature = 1.0;
  MicrobatchRows tokens_per_microbatch;
  bool recompute = false;
  double router_aux_loss_coef = 0.0;
  ActivationRecord* record = nullptr;  ///< of the sampler's activations, where it holds for the decoder
  const Linear* value_head = nullptr;  ///< a critic on the policy's rows, which learns in the same pass
};

/// Of one micro-batch, or sums over those of an update or a step.
struct LossResult {
  LossMetrics objective;
  RowCounts rows;
  std::optional<double>
      aux_loss;  ///< the weighted load-balancing loss where one is asked for; not in objective.loss
  double entropy_sum = 0.0;
  int64_t num_forwarded_tokens = 0;     ///< loss tokens that were forwarded
  double logprob_difference_sum = 0.0;  ///< |policy - sampler|, over the forwarded tokens
  double logprob_difference_max = 0.0;
  double length_preference_gradient = 0.0;  ///< of an update that learns it
  bool is_finite = true;
  std::vector<const Completion*> nonfinite;  ///< the completions of the first micro-batch that was not
};

/// Adds the sums of another micro-batch or update; of those that were not finite the first one's completions
/// are kept.
void add_loss(const LossResult& more, LossResult& total);

/// Adds the gradient of the objective over `groups` (one mini-batch) to the decoder's leaves. Completions
/// that carry no gradient (masked, or advantage exactly 0 where the advantages alone make the loss) count in
/// every normaliser and are not forwarded. `objective` is resolved (objective_config.h).
LossResult accumulate_policy_gradient(const Decoder& policy, std::span<const TrainedGroup> groups,
                                      const LossConfig& objective, const LossOptions& options,
                                      const LossCoefficients& coefficients = {});

/// What the objective says of a batch without completions: every metric that it has, at 0.
LossMetrics empty_loss_metrics(const LossConfig& objective, const LossCoefficients& coefficients = {});

/// Fills `ref_logprobs` of all completions that are not masked, or of all.
void fill_ref_logprobs(const Decoder& reference, std::span<TrainedGroup> groups, const LossOptions& options,
                       bool masked_too = false);

/// Fills `entropies` of all completions, before the policy is updated.
void fill_entropies(const Decoder& policy, std::span<TrainedGroup> groups, const LossOptions& options);

}  // namespace cohort
