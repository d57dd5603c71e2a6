// One optimizer update's worth of loss: micro-batches forward and backward, gradients added up in the leaves.
#pragma once

#include <cstdint>
#include <span>

#include "cohort/models/weight_snapshot.h"
#include "cohort/objectives/loss_metrics.h"
#include "cohort/objectives/presets.h"
#include "cohort/rl/batch.h"
#include "cohort/train/grpo/loss_part.h"
#include "cohort/train/run/loss_result.h"

namespace cohort {

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
