// Clipped weights in place of a clipped objective (CISPO, arXiv:2506.13585). M = loss tokens of the
// micro-batch.
#pragma once

#include "cohort/objectives/surrogate.h"

namespace cohort {

/// -stop_gradient(clamp(ratio, floor, cap)) * A * logp per token, all [M]; gradient flows through
/// `policy_logprobs` alone. `cap` is the bound itself, not 1 + epsilon (arXiv:2506.13585 eq. 4 and 5).
at::Tensor cispo_loss(const at::Tensor& policy_logprobs, const at::Tensor& ratio,
                      const at::Tensor& advantages, double floor, double cap);

/// cispo_loss with `min` as the floor and `epsilon_high` of LossConfig as the cap.
struct CispoSurrogate final : Surrogate {
  double min = 0.0;

  void describe(FieldVisitor& f) override;
  void advise(const ObjectiveSettings& settings, std::vector<std::string>& advice) const override;
  PolicyTerm term(const TokenView& view, const at::Tensor& ratio, const LossConfig& config) const override;
};

}  // namespace cohort
