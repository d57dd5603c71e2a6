// Passes of a critic over completions: its values before an update, and the gradient of its loss. Legend: M
// tokens of a micro-batch, H hidden_size.
#pragma once

#include <ATen/ATen.h>

#include <span>

#include "cohort/models/decoder.h"
#include "cohort/objectives/loss_metrics.h"
#include "cohort/ops/linear.h"
#include "cohort/rl/batch.h"
#include "cohort/train/run/loss_result.h"

namespace cohort {

/// [M] in the head's dtype: what the state before each token is worth, from the rows [M, H] that predict the
/// tokens. `head` has one output and computes in its weight's own dtype. Gradient flows to it and to `rows`.
at::Tensor token_values(const Linear& head, const at::Tensor& rows);

/// Fills `values` of all samples, by `head` on the rows of `trunk`.
void fill_values(const Decoder& trunk, const Linear& head, std::span<Group> groups,
                 const LossOptions& options);

/// What the critic's loss is made of, besides values and returns.
struct ValueLoss {
  double coefficient = 0.0;
  double clip = 0.0;
  bool trains_trunk = true;  ///< else the head alone has a gradient
};

/// Adds the gradient of coefficient * the mean of the clipped loss (value_loss.h) over the loss tokens of
/// `groups` (one mini-batch) to the leaves of head and trunk. The result has metrics, and completions whose
/// loss was not finite.
LossResult accumulate_value_gradient(const Decoder& trunk, const Linear& head, std::span<const Group> groups,
                                     const ValueLoss& loss, const LossOptions& options);

/// `critic/vf_loss`, `critic/vf_clipfrac`: means over these tokens, [M] each.
void record_value_loss(const at::Tensor& values, const at::Tensor& old_values, const at::Tensor& returns,
                       double clip, LossMetrics& metrics);

}  // namespace cohort
