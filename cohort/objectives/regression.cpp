#include "cohort/objectives/regression.h"

#include "cohort/core/error.h"
#include "cohort/objectives/policy_term.h"
#include "cohort/objectives/presets.h"
#include "cohort/objectives/scale.h"

namespace cohort {

at::Tensor regression_loss(const at::Tensor& log_ratio, const at::Tensor& advantages,
                           const Segments& completions, double tau) {
  const at::Tensor implicit = completions.expand(completions.sum(log_ratio)) * tau;
  return (advantages.detach() - implicit).square();
}

void RegressionSurrogate::describe(FieldVisitor& f) {
  f("kimi_tau", tau,
    "regression: (advantage - kimi_tau * log-ratio of the sequence)^2; A*-PO's beta2 with ratio_anchor ref.",
    above(0.0));
}

void RegressionSurrogate::advise(const ObjectiveSettings& settings, std::vector<std::string>& advice) const {
  const AdvantageConfig& advantages = settings.advantages;
  if (advantages.has_token_advantages()) {
    throw ConfigError(str("surrogate regression fits one number a completion, and credit ", advantages.credit,
                          " gives each token its own: set credit = \"sequence\""));
  }
  if (!find_scale(advantages.scale_rewards).is_one) {
    advice.push_back(
        "surrogate regression fits rewards minus their mean (arXiv:2507.20534): set scale_rewards = "
        "\"none\"");
  }
}

PolicyTerm RegressionSurrogate::term(const TokenView& view, const at::Tensor& ratio,
                                     const LossConfig&) const {
  return {regression_loss(view.log_ratio, view.advantages, view.completions, tau), ratio, {}, {}};
}

}  // namespace cohort
