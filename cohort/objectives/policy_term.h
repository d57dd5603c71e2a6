// The policy's term of each token before filters and weights: a choice of anchor, ratio level and surrogate.
// Legend: M packed loss tokens of N completions.
#pragma once

#include <ATen/ATen.h>

#include <optional>

#include "cohort/objectives/loss_input.h"
#include "cohort/objectives/segments.h"

namespace cohort {

/// The input with everything per token, [M], in the dtype of the policy's log-probabilities.
struct TokenView {
  at::Tensor policy;     ///< carries the gradient
  at::Tensor old;        ///< constant, as all below but log_ratio
  at::Tensor sampler;    ///< as given; undefined where absent
  at::Tensor anchor;     ///< what the ratio is taken against
  at::Tensor log_ratio;  ///< policy - anchor, with gradient
  at::Tensor advantages;
  at::Tensor mismatch;          ///< weights of importance_sampling_mode; undefined where that is "none"
  at::Tensor is_demonstration;  ///< bool; undefined where no completion is a demonstration
  Segments completions;
  std::optional<Segments> turns;  ///< where the ratio is theirs
};

/// `config` is expanded and checked. Tokens of demonstrations have ratio 1 and mismatch weight 1.
TokenView token_view(const LossInput& input, const LossConfig& config);

struct PolicyTerm {
  at::Tensor loss;         ///< [M], carries the gradient
  at::Tensor ratio;        ///< [M] with gradient: of the level, of the token for surrogates with an own ratio
  at::Tensor low_clipped;  ///< [M] bool of the surrogates ppo and gmpo, else undefined
  at::Tensor high_clipped;  ///< as low_clipped
};

/// The term that `surrogate` and `importance_sampling_level` name; 0 for a surrogate whose loss is a group's.
PolicyTerm policy_term(const TokenView& view, const LossConfig& config);

}  // namespace cohort
