// The gamma-shaped weight of a whole sequence (VESPO, arXiv:2602.10693, as in the authors' code). Legend: M
// packed loss tokens of N completions.
#pragma once

#include "cohort/objectives/surrogate.h"

namespace cohort {

class Segments;

/// The exponent and the decay of the weight for advantages of at least 0 and for the others.
struct VespoShape {
  double k_pos = 2.0, lambda_pos = 3.0, k_neg = 3.0, lambda_neg = 2.0;
};

/// phi(W) = exp(lambda) * W^k * exp(-lambda * W) per token, [M], a constant with phi(1) = 1. W is the product
/// of the completion's ratios exp(log_ratio), and of `mismatch_weights` [M] where they are defined.
/// Log-ratios are clamped to +-20, logs of mismatch weights and log W to [log 1e-8, 20], lambda is at least
/// 1e-4.
at::Tensor vespo_weights(const at::Tensor& log_ratio, const at::Tensor& advantages,
                         const at::Tensor& mismatch_weights, const Segments& completions,
                         const VespoShape& shape);

/// -A log p weighed by vespo_weights, whose W has the weights of importance_sampling_mode in it.
struct VespoSurrogate final : Surrogate {
  VespoShape shape;

  SurrogateTraits traits() const override { return {.has_sequence_ratio = true, .corrects_mismatch = true}; }
  void describe(FieldVisitor& f) override;
  void check(const LossConfig& config) const override;
  PolicyTerm term(const TokenView& view, const at::Tensor& ratio, const LossConfig& config) const override;
};

}  // namespace cohort
