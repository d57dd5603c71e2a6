// Soft clipping by a sigmoid gate (SAPO, arXiv:2511.20347). M = loss tokens of the micro-batch.
#pragma once

#include "cohort/objectives/surrogate.h"

namespace cohort {

/// -(4 / tau) * sigmoid(tau * (ratio - 1)) * A per token, tau = `temperature_pos` where A > 0, else
/// `temperature_neg`; ratio [M] carries the gradient, advantages [M] are constants. At ratio 1 the gradient
/// is that of REINFORCE, the value is -(2 / tau) * A (arXiv:2511.20347).
at::Tensor sapo_loss(const at::Tensor& ratio, const at::Tensor& advantages, double temperature_pos,
                     double temperature_neg);

/// sapo_loss with its temperatures.
struct SapoSurrogate final : Surrogate {
  double temperature_pos = 1.0;
  double temperature_neg = 1.05;

  void describe(FieldVisitor& f) override;
  PolicyTerm term(const TokenView& view, const at::Tensor& ratio, const LossConfig& config) const override;
};

}  // namespace cohort
