// A hard trust region in the token's probability (DPPO, arXiv:2602.04879). M = loss tokens of the
// micro-batch.
#pragma once

#include <string>

#include "cohort/objectives/surrogate.h"

namespace cohort {

/// 1 where a token keeps its policy term, 0 where it has moved beyond the bound in the direction in which its
/// advantage pushes it; [M] in the inputs' dtype, a constant. With p = policy's and q = anchor's probability:
/// "tv" leaves out p - q > epsilon_high where A > 0 and p - q < -epsilon where A < 0; "kl" bounds q log(q /
/// p) + (1 - q) log((1 - q) / (1 - p)) on the side of p > q by epsilon_high and of p < q by epsilon
/// (arXiv:2602.04879, the binary forms).
at::Tensor divergence_mask(const std::string& divergence, const at::Tensor& policy_logprobs,
                           const at::Tensor& anchor_logprobs, const at::Tensor& advantages, double epsilon,
                           double epsilon_high);

/// -stop_gradient(min(ratio, truncation)) * mask * A * logp per token, all [M]; gradient flows through
/// `policy_logprobs` alone.
at::Tensor dppo_loss(const at::Tensor& policy_logprobs, const at::Tensor& ratio, const at::Tensor& advantages,
                     const at::Tensor& mask, double truncation);

/// dppo_loss within `epsilon` and `epsilon_high` of LossConfig.
struct DppoSurrogate final : Surrogate {
  std::string divergence = "tv";
  double ratio_truncation = 20.0;

  SurrogateTraits traits() const override { return {.needs_token_level = true}; }
  void describe(FieldVisitor& f) override;
  PolicyTerm term(const TokenView& view, const at::Tensor& ratio, const LossConfig& config) const override;
};

}  // namespace cohort
