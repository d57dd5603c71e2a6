// Compares answers of any structure: values, lists, sets, tuples, matrices, equations, inequalities.
#pragma once

#include <vector>

#include "cohort/rewards/math/scalars.h"
#include "cohort/rewards/math/verdict.h"

namespace cohort::math {

/// Compares two answers; symmetric.
Verdict compare(const Item& a, const Item& b, Work& work);

std::vector<Item> children_of(const Item& item);

/// One by one, in order.
Verdict compare_sequences(const std::vector<Item>& a, const std::vector<Item>& b, Work& work);

}  // namespace cohort::math
