#include "cohort/objectives/controllers.h"

#include <algorithm>

#include "cohort/core/error.h"

namespace cohort {

double adapted_beta(double beta, double kl, double target, int64_t num_completions, double horizon) {
  COHORT_CHECK(target > 0.0 && horizon > 0.0, "target is ", target, ", horizon ", horizon);
  const double error = std::clamp(kl / target - 1.0, -0.2, 0.2);
  return beta * (1.0 + error * static_cast<double>(num_completions) / horizon);
}

double adapted_entropy_coef(double coefficient, double entropy, const EntropyControl& control) {
  const double moved = coefficient + (entropy <= control.target ? control.step : -control.step);
  return std::clamp(moved, control.smallest, control.largest);
}

double applied_entropy_coef(double coefficient, double entropy, const EntropyControl& control) {
  return entropy <= control.target ? coefficient : 0.0;
}

double adapted_factor(double factor, double ratio, const FactorControl& control) {
  const double aim = control.prior + (1.0 - control.prior) * ratio;
  return std::clamp(control.decay * factor + (1.0 - control.decay) * aim, control.smallest, control.largest);
}

}  // namespace cohort
