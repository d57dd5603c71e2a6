// One update's worth of preference loss: pairs packed with their prompt once, micro-batches forward and
// backward.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cohort/models/weight_snapshot.h"
#include "cohort/objectives/loss_metrics.h"
#include "cohort/objectives/preference.h"
#include "cohort/train/preference/preference_data.h"

namespace cohort {

struct PreferenceOptions {
  PreferenceConfig objective{};
  int64_t tokens_per_microbatch = 0;
  bool recompute = false;
  double router_aux_loss_coef = 0.0;
};

/// The log-probabilities that sequence_logprobs makes of every completion of `batch`, chosen and rejected in
/// turn: what the reference gives to the loss. Without gradient; the same numbers in any batch.
std::vector<double> sequence_sums(const WeightSnapshot& weights, const std::vector<PreferenceExample>& batch,
                                  const PreferenceOptions& options);

/// Of a batch.
struct PreferenceResult {
  LossMetrics metrics{};  ///< preference_loss's, and `entropy`, the mean over all completions' tokens
  double loss = 0.0;
  std::optional<double> aux_loss{};  ///< the weighted load-balancing loss where one is asked for
  int64_t num_tokens = 0;            ///< of all sequences, a prompt once for each
};

/// Adds the gradient of the batch's loss to the decoder's leaves where gradients are on. `ref_sums` are the
/// reference's sequence_sums; empty where the objective is free of it. A micro-batch holds whole pairs.
PreferenceResult accumulate_preference_gradient(const Decoder& policy,
                                                const std::vector<PreferenceExample>& batch,
                                                const std::vector<double>& ref_sums,
                                                const PreferenceOptions& options);

}  // namespace cohort
