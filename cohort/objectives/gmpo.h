// The geometric mean of clipped token ratios (GMPO, arXiv:2507.20673). Legend: M packed loss tokens of N
// completions.
#pragma once

#include <optional>

#include "cohort/objectives/surrogate.h"

namespace cohort {

class Segments;
struct ClippedSurrogate;

/// -A * exp(mean over the completion of the clipped log-ratio) per token: min(x, high) where A >= 0, max(x,
/// -low) where A < 0; a bound that is missing does not act. `log_ratio` [M] carries the gradient, to all
/// tokens of a completion that are not clipped; advantages [M] are constants (arXiv:2507.20673; bounds
/// in log space, 0.4 there). The masks say which tokens were clipped.
ClippedSurrogate gmpo_surrogate(const at::Tensor& log_ratio, const at::Tensor& advantages,
                                const Segments& completions, std::optional<double> low,
                                std::optional<double> high);

/// gmpo_surrogate within `epsilon`, `epsilon_high` and `clip_side` of LossConfig.
struct GmpoSurrogate final : Surrogate {
  SurrogateTraits traits() const override { return {.needs_token_level = true, .has_sequence_ratio = true}; }
  PolicyTerm term(const TokenView& view, const at::Tensor& ratio, const LossConfig& config) const override;
};

}  // namespace cohort
