// Expressions of the form slope * variable + offset with rational coefficients.
#pragma once

#include <optional>
#include <string>

#include "libs/answers/internal/fraction.h"
#include "libs/answers/internal/scalars.h"

namespace cohort::answers {

struct Linear {
  Fraction slope;
  Fraction offset;
};

/// Nothing where the expression has another form, or another variable.
std::optional<Linear> find_linear(const Item& item, const std::string& variable);

}  // namespace cohort::answers
