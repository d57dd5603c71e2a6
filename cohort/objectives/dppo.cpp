#include "cohort/objectives/dppo.h"

#include "cohort/core/error.h"
#include "cohort/objectives/policy_term.h"

namespace cohort {
namespace {

/// q log(q / p) of log-probabilities; 0 where q is 0.
at::Tensor divergence_part(const at::Tensor& log_q, const at::Tensor& log_p) {
  const at::Tensor q = log_q.exp();
  return at::where(q == 0, at::zeros_like(q), q * (log_q - log_p));
}

/// log(1 - exp(x)) for x <= 0.
at::Tensor log_complement(const at::Tensor& x) { return (-x.expm1()).log(); }

/// The divergence between two ways of choosing the token or not, [M].
at::Tensor binary_kl(const at::Tensor& log_q, const at::Tensor& log_p) {
  return divergence_part(log_q, log_p) + divergence_part(log_complement(log_q), log_complement(log_p));
}

}  // namespace

at::Tensor divergence_mask(const std::string& divergence, const at::Tensor& policy_logprobs,
                           const at::Tensor& anchor_logprobs, const at::Tensor& advantages, double epsilon,
                           double epsilon_high) {
  COHORT_CHECK(divergence == "tv" || divergence == "kl", "divergence is ", divergence);
  const at::Tensor log_p = policy_logprobs.detach();
  const at::Tensor log_q = anchor_logprobs.detach();
  const at::Tensor moved = log_p.exp() - log_q.exp();
  const at::Tensor distance = divergence == "tv" ? moved.abs() : binary_kl(log_q, log_p);
  const at::Tensor is_too_high = (advantages > 0).logical_and(moved > 0).logical_and(distance > epsilon_high);
  const at::Tensor is_too_low = (advantages < 0).logical_and(moved < 0).logical_and(distance > epsilon);
  return is_too_high.logical_or(is_too_low).logical_not().to(log_p.scalar_type());
}

at::Tensor dppo_loss(const at::Tensor& policy_logprobs, const at::Tensor& ratio, const at::Tensor& advantages,
                     const at::Tensor& mask, double truncation) {
  return -ratio.detach().clamp_max(truncation) * mask * advantages.detach() * policy_logprobs;
}

void DppoSurrogate::describe(FieldVisitor& f) {
  f("divergence", divergence,
    "What dppo bounds by epsilon and epsilon_high: tv, the difference of the token's probabilities; kl, the "
    "divergence of the two-way choice token or not.",
    one_of({"tv", "kl"}));
  f("ratio_truncation", ratio_truncation, "Cap C of dppo's weight.", above(0.0));
}

PolicyTerm DppoSurrogate::term(const TokenView& view, const at::Tensor& ratio,
                               const LossConfig& config) const {
  const at::Tensor mask = divergence_mask(divergence, view.policy, view.anchor, view.advantages,
                                          config.epsilon, config.upper_epsilon());
  return {dppo_loss(view.policy, ratio, view.advantages, mask, ratio_truncation), ratio, {}, {}};
}

}  // namespace cohort
