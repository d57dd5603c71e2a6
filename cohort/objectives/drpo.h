// A smooth trust region in the token's probability (DRPO, arXiv:2606.09821). M = loss tokens of the
// micro-batch.
#pragma once

#include "cohort/objectives/surrogate.h"

namespace cohort {

/// -A * r + |A| * mu * (r - 1)^2 / (2 * delta) per token, with mu = exp(anchor_logprobs); ratio r [M] carries
/// the gradient, whose weight beside REINFORCE's is r * (1 - sign(A (r - 1)) |p - mu| / delta); the rest is
/// constant.
at::Tensor drpo_loss(const at::Tensor& ratio, const at::Tensor& advantages, const at::Tensor& anchor_logprobs,
                     double delta);

/// drpo_loss with its width.
struct DrpoSurrogate final : Surrogate {
  double delta = 12.5;

  SurrogateTraits traits() const override { return {.needs_token_level = true}; }
  void describe(FieldVisitor& f) override;
  void advise(const ObjectiveSettings& settings, std::vector<std::string>& advice) const override;
  PolicyTerm term(const TokenView& view, const at::Tensor& ratio, const LossConfig& config) const override;
};

}  // namespace cohort
