#include "cohort/objectives/cispo.h"

#include "cohort/core/error.h"
#include "cohort/objectives/policy_term.h"
#include "cohort/objectives/presets.h"
#include "cohort/objectives/weighted.h"

namespace cohort {

at::Tensor cispo_loss(const at::Tensor& policy_logprobs, const at::Tensor& ratio,
                      const at::Tensor& advantages, double floor, double cap) {
  return ratio.detach().clamp(floor, cap) * reinforce_loss(policy_logprobs, advantages);
}

void CispoSurrogate::describe(FieldVisitor& f) {
  f("cispo_min", min, "Floor of CISPO's weight.", at_least(0.0));
}

void CispoSurrogate::advise(const ObjectiveSettings& settings, std::vector<std::string>& advice) const {
  const double cap = settings.loss.upper_epsilon();
  if (cap >= 1.0) return;
  advice.push_back(str("epsilon_high is CISPO's cap itself, and ", cap,
                       " is below 1: all weights are cut to it; ScaleRL uses 5"));
}

PolicyTerm CispoSurrogate::term(const TokenView& view, const at::Tensor& ratio,
                                const LossConfig& config) const {
  return {cispo_loss(view.policy, ratio, view.advantages, min, config.upper_epsilon()), ratio, {}, {}};
}

}  // namespace cohort
