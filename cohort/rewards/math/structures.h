// Compares answers of any structure: values, lists, sets, tuples, matrices, equations, inequalities.
#pragma once

#include "cohort/rewards/math/scalars.h"
#include "cohort/rewards/math/verdict.h"

namespace cohort::math {

/// Compares two answers; symmetric.
Verdict compare(const Item& a, const Item& b, Work& work);

}  // namespace cohort::math
