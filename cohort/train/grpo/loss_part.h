// A micro-batch's part of an update's loss, where coefficients are learned or act on what the pass gave.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "cohort/objectives/loss_input.h"
#include "cohort/ops/token_logprobs.h"

namespace cohort {

/// What an update's loss takes in place of settings.
struct LossCoefficients {
  std::optional<double> entropy_coef{};
  std::optional<double> length_preference{};  ///< learned: its gradient is wanted
};

/// 1 for the tokens of the policy's own completions, 0 for those of demonstrations, [M].
/// `input.is_demonstration` is not empty.
at::Tensor own_tokens(const LossInput& input);

void take_coefficients(const LossCoefficients& coefficients, LossInput& update);

/// Whether terms beside the advantages' have a gradient for completions whose advantage is 0.
bool trains_without_advantage(const LossConfig& objective, const LossInput& update);

/// The `chosen` completions of `update` with the log-probabilities of their tokens, [M], and, for the entropy
/// bonus, their entropies: masks are made of the entropies of the policy that sampled, the bonus is that of
/// the policy that learns. With a learned length preference the gradient ends at the weights, which are a
/// leaf.
LossInput loss_part(const LossInput& update, const LossConfig& objective, const std::vector<int64_t>& chosen,
                    const TokenLogprobs& values);

/// After the backward of a part: the gradient by the weights of the update's N completions, [N] float64; 0
/// for those that were not chosen. Undefined where no length preference is learned.
at::Tensor weights_gradient(const LossInput& part, const std::vector<int64_t>& chosen,
                            int64_t num_completions);

/// The gradient by the length preference, from those by the weights (undefined: 0); once an update.
double length_preference_gradient(const LossInput& update, const std::vector<at::Tensor>& weights_gradients);

}  // namespace cohort
