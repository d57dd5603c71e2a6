// The squared regression of a sequence's log-ratio on its advantage (Kimi k1.5, arXiv:2501.12599; K2,
// arXiv:2507.20534; A*-PO). Legend: M packed loss tokens of N completions.
#pragma once

#include "cohort/objectives/surrogate.h"

namespace cohort {

class Segments;

/// Each token has its completion's (A - tau * sum of log_ratio)^2, [M], so that a mean over the completion's
/// tokens is the completion's term; `log_ratio` [M] carries the gradient, advantages [M] (r - mean r; for
/// A*-PO, where log_ratio is against the reference, r - V*) are constants (arXiv:2507.20534).
at::Tensor regression_loss(const at::Tensor& log_ratio, const at::Tensor& advantages,
                           const Segments& completions, double tau);

/// regression_loss with its temperature.
struct RegressionSurrogate final : Surrogate {
  double tau = 0.1;

  SurrogateTraits traits() const override {
    return {.needs_token_level = true, .couples_tokens = true, .trains_without_advantage = true};
  }
  void describe(FieldVisitor& f) override;
  void advise(const ObjectiveSettings& settings, std::vector<std::string>& advice) const override;
  PolicyTerm term(const TokenView& view, const at::Tensor& ratio, const LossConfig& config) const override;
};

}  // namespace cohort
