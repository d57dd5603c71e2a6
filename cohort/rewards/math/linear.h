// Expressions of the form slope * variable + offset with rational coefficients.
#pragma once

#include <optional>
#include <string>

#include "cohort/rewards/math/fraction.h"
#include "cohort/rewards/math/scalars.h"

namespace cohort::math {

struct Linear {
  Fraction slope;
  Fraction offset;
};

/// Nothing where the expression has another form, or another variable.
std::optional<Linear> find_linear(const Item& item, const std::string& variable);

}  // namespace cohort::math
