// The geometric mean of clipped token ratios (GMPO, arXiv:2507.20673). Legend: M packed loss tokens of N
// completions.
#pragma once

#include <ATen/ATen.h>

#include <optional>

#include "cohort/objectives/clip.h"
#include "cohort/objectives/segments.h"

namespace cohort {

/// -A * exp(mean over the completion of the clipped log-ratio) per token: min(x, high) where A >= 0, max(x,
/// -low) where A < 0; a bound that is missing does not act. `log_ratio` [M] carries the gradient, to all
/// tokens of a completion that are not clipped; advantages [M] are constants (arXiv:2507.20673; bounds
/// in log space, 0.4 there). The masks say which tokens were clipped.
ClippedSurrogate gmpo_surrogate(const at::Tensor& log_ratio, const at::Tensor& advantages,
                                const Segments& completions, std::optional<double> low,
                                std::optional<double> high);

}  // namespace cohort
