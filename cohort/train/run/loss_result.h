// The passes of one optimizer update: how its rows are forwarded, and what they add up to.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cohort/dist/group.h"
#include "cohort/models/activation_record.h"
#include "cohort/objectives/loss.h"
#include "cohort/objectives/loss_metrics.h"
#include "cohort/ops/linear.h"
#include "cohort/rl/types.h"
#include "cohort/train/run/packing.h"

namespace cohort {

/// A loss in place of the objective's, of a micro-batch: `policy_logprobs` and `entropies` carry gradient,
/// and `whole` counts the whole batch. Threads may call it at the same time.
using LossFunction = std::function<LossOutput(const LossInput& part)>;

/// Samples of a batch that follow one another, counted through its groups.
struct SampleRange {
  int64_t first = 0, count = 0;

  bool holds(int64_t place) const { return place >= first && place < first + count; }
};

/// How the rows of an update are forwarded.
struct LossOptions {
  double temperature = 1.0;
  MicrobatchRows tokens_per_microbatch;
  bool recompute = false;
  double router_aux_loss_coef = 0.0;
  const ActivationRecord* record = nullptr;  ///< of the sampler's activations, where it holds for the decoder
  std::optional<SampleRange> only{};         ///< forward these samples alone, of a whole batch
  const Linear* value_head = nullptr;        ///< a critic on the policy's rows, which learns in the same pass
  std::function<void()> on_microbatch{};     ///< called before each micro-batch; what it throws ends the pass
  /// Called with a forwarded completion's place in the batch and the loss's gradient by the log-probabilities
  /// of its loss tokens. Threads may call it at the same time.
  std::function<void(int64_t place, std::span<const float> gradient)> on_token_gradient{};
  LossFunction loss{};                      ///< empty: the objective's
  dist::Group* processes = &dist::alone();  ///< that share the rows; all of them get the same result
  int64_t gradient_slots = 1;               ///< of an update, see dist/gradient_sum.h
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

/// A result as bytes, bit for bit, and back. Throws FormatError for other bytes.
std::string to_bytes(const LossResult& result);
LossResult loss_result_from(const std::string& bytes);

}  // namespace cohort
