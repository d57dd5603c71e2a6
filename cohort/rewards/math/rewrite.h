// Brings a parsed answer into the form that structures.h compares.
#pragma once

#include "cohort/rewards/math/parser.h"

namespace cohort::math {

/// Every plus-minus becomes a list of two, with all upper and all lower signs; lists within lists become one.
/// Throws TreeLimit.
Expression resolve_signs(const Expression& source);

}  // namespace cohort::math
