// The squared regression of a sequence's log-ratio on its advantage (Kimi k1.5, arXiv:2501.12599; K2,
// arXiv:2507.20534; A*-PO). Legend: M packed loss tokens of N completions.
#pragma once

#include <ATen/ATen.h>

#include "cohort/objectives/segments.h"

namespace cohort {

/// Each token has its completion's (A - tau * sum of log_ratio)^2, [M], so that a mean over the completion's
/// tokens is the completion's term; `log_ratio` [M] carries the gradient, advantages [M] (r - mean r; for
/// A*-PO, where log_ratio is against the reference, r - V*) are constants (arXiv:2507.20534).
at::Tensor regression_loss(const at::Tensor& log_ratio, const at::Tensor& advantages,
                           const Segments& completions, double tau);

}  // namespace cohort
