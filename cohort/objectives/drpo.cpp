#include "cohort/objectives/drpo.h"

#include "cohort/core/error.h"
#include "cohort/objectives/policy_term.h"

namespace cohort {

at::Tensor drpo_loss(const at::Tensor& ratio, const at::Tensor& advantages, const at::Tensor& anchor_logprobs,
                     double delta) {
  const at::Tensor constant = advantages.detach();
  const at::Tensor penalty = constant.abs() * anchor_logprobs.detach().exp() / (2.0 * delta);
  return penalty * (ratio - 1.0).square() - constant * ratio;
}

void DrpoSurrogate::describe(FieldVisitor& f) {
  f("drpo_delta", delta,
    "Width of drpo's penalty; the published 12.5 hardly acts, since probabilities differ by at most 1.",
    above(0.0));
}

void DrpoSurrogate::advise(const ObjectiveSettings&, std::vector<std::string>& advice) const {
  if (delta < 1.0) return;
  advice.push_back(str("drpo_delta is ", delta,
                       ": probabilities differ by at most 1, so that the weight stays within ",
                       1.0 - 1.0 / delta, " and ", 1.0 + 1.0 / delta, "; 0.1 to 1 makes it act"));
}

PolicyTerm DrpoSurrogate::term(const TokenView& view, const at::Tensor& ratio, const LossConfig&) const {
  return {drpo_loss(ratio, view.advantages, view.anchor, delta), ratio, {}, {}};
}

}  // namespace cohort
