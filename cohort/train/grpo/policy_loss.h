// One optimizer update's worth of loss: micro-batches forward and backward, gradients added up in the leaves.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "cohort/models/weight_snapshot.h"
#include "cohort/objectives/loss.h"
#include "cohort/objectives/presets.h"
#include "cohort/rl/batch.h"
#include "cohort/train/grpo/loss_part.h"
#include "cohort/train/run/packing.h"

namespace cohort {

/// A loss in place of the objective's, of a micro-batch: `policy_logprobs` and `entropies` carry gradient, and
/// `whole` counts the whole batch. Threads may call it at the same time.
using LossFunction = std::function<LossOutput(const LossInput& part)>;

struct LossOptions {
  double temperature = 1.0;
  MicrobatchRows tokens_per_microbatch;
  bool recompute = false;
  double router_aux_loss_coef = 0.0;
  const ActivationRecord* record = nullptr;  ///< of the sampler's activations, where it holds for the decoder
  int64_t only_sample = -1;                  ///< forward this sample alone, of a whole batch; -1: all
  const Linear* value_head = nullptr;        ///< a critic on the policy's rows, which learns in the same pass
  std::function<void()> on_microbatch{};     ///< called before each micro-batch; what it throws ends the pass
  LossFunction loss{};                       ///< empty: the objective's
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
  std::vector<Completion> nonfinite;  ///< the completions of the first micro-batch that was not
};

/// Adds the sums of another micro-batch or update; of those that were not finite the first one's completions
/// are kept.
void add_loss(const LossResult& more, LossResult& total);

/// Adds the gradient of the objective over `groups` (one mini-batch) to the decoder's leaves. Samples that
/// carry no gradient (masked, or with advantage exactly 0 if the advantages alone make the loss) count in
/// every normalizer and are not forwarded. Only sampled tokens carry loss. `objective` is resolved
/// (objective_config.h).
LossResult accumulate_policy_gradient(const Decoder& policy, std::span<const Group> groups,
                                      const LossConfig& objective, const LossOptions& options,
                                      const LossCoefficients& coefficients = {});

/// What the objective says of a batch without completions: every metric that it has, at 0.
LossMetrics empty_loss_metrics(const LossConfig& objective, const LossCoefficients& coefficients = {});

/// Fills `old_logprobs` of all samples but demonstrations, before the policy is updated: for samples of
/// earlier weights, and on a platform where sampler and trainer differ.
void fill_old_logprobs(const WeightSnapshot& policy, std::span<Group> groups, const LossOptions& options);

/// Fills `ref_logprobs` of all samples that are not masked, or of all.
void fill_ref_logprobs(const WeightSnapshot& reference, std::span<Group> groups, const LossOptions& options,
                       bool masked_too = false);

/// Fills `entropies` of all samples, before the policy is updated.
void fill_entropies(const WeightSnapshot& policy, std::span<Group> groups, const LossOptions& options);

}  // namespace cohort
