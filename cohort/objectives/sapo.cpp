#include "cohort/objectives/sapo.h"

#include "cohort/objectives/policy_term.h"

namespace cohort {

at::Tensor sapo_loss(const at::Tensor& ratio, const at::Tensor& advantages, double temperature_pos,
                     double temperature_neg) {
  const at::Tensor temperature =
      at::full_like(advantages, temperature_neg).masked_fill(advantages > 0, temperature_pos);
  return -(4.0 / temperature) * (temperature * (ratio - 1.0)).sigmoid() * advantages.detach();
}

void SapoSurrogate::describe(FieldVisitor& f) {
  f("sapo_temperature_pos", temperature_pos, "SAPO's temperature where the advantage is positive.",
    above(0.0));
  f("sapo_temperature_neg", temperature_neg, "SAPO's temperature elsewhere.", above(0.0));
}

PolicyTerm SapoSurrogate::term(const TokenView& view, const at::Tensor& ratio, const LossConfig&) const {
  return {sapo_loss(ratio, view.advantages, temperature_pos, temperature_neg), ratio, {}, {}};
}

}  // namespace cohort
