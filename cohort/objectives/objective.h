// The GRPO family's loss of one micro-batch, composed of ratio, clip, KL and aggregation weights; tensors
// only. Legend: M loss tokens of the micro-batch, completion after completion; tokens without loss are not
// passed at all.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

#include "cohort/objectives/objective_config.h"

namespace cohort {

/// All tensors lie on one device; only `policy_logprobs` carries gradient.
struct ObjectiveInput {
  at::Tensor policy_logprobs;  ///< [M] float32 (float64 in tests), natural log at the sampling temperature
  at::Tensor old_logprobs;     ///< [M], under the weights that sampled
  at::Tensor ref_logprobs;     ///< [M], under the reference weights; undefined when beta is 0
  at::Tensor advantages;       ///< [M], each token's own
  at::Tensor token_weights;    ///< [M], `token_weight` of aggregate.h
  std::vector<int64_t> completion_lengths;  ///< loss tokens of each completion, in order; they add up to M
};

/// Sums and counts that add up over micro-batches, and what the metrics of a step make of them.
struct ObjectiveMetrics {
  double loss = 0.0;
  double kl_sum = 0.0;
  int64_t num_tokens = 0;
  int64_t num_low_clipped = 0;
  int64_t num_high_clipped = 0;
  double smallest_low_share = 1.0;  ///< over completions with tokens: the share of them that is clipped
  double largest_high_share = 0.0;

  /// Adds another micro-batch.
  void add(const ObjectiveMetrics& other);

  /// Adds a completion whose advantage is 0 and whose forward pass was saved: its tokens count, none is
  /// clipped.
  void add_skipped_completion(int64_t loss_length);

  /// `clip_ratio/*`: shares of all tokens, and the extremes over completions; 0 without tokens.
  double low_mean() const { return per_token(static_cast<double>(num_low_clipped)); }
  double high_mean() const { return per_token(static_cast<double>(num_high_clipped)); }
  double region_mean() const { return low_mean() + high_mean(); }
  double low_min() const { return num_tokens > 0 ? smallest_low_share : 0.0; }
  double high_max() const { return largest_high_share; }

  /// `kl`: mean k3 over all tokens; 0 without tokens.
  double kl_mean() const { return per_token(kl_sum); }

 private:
  double per_token(double sum) const { return num_tokens > 0 ? sum / static_cast<double>(num_tokens) : 0.0; }
};

struct ObjectiveOutput {
  at::Tensor loss;  ///< scalar float64 with gradient; add up over micro-batches, do not average
  ObjectiveMetrics metrics;
};

/// sum_t weight_t * (clipped surrogate_t + beta * k3_t), arXiv:2402.03300 eq. 3 and 4 negated; the gradient
/// flows through `policy_logprobs` alone.
ObjectiveOutput grpo_objective(const ObjectiveInput& input, const ObjectiveConfig& config);

}  // namespace cohort
