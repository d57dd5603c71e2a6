// Compares answers of any structure: values, lists, sets, tuples, matrices, equations, inequalities.
#pragma once

#include <vector>

#include "libs/answers/internal/scalars.h"
#include "libs/answers/internal/verdict.h"

namespace cohort::answers {

/// Compares two answers; symmetric.
Verdict compare(const Item& a, const Item& b, Work& work);

std::vector<Item> children_of(const Item& item);

/// One by one, in order.
Verdict compare_sequences(const std::vector<Item>& a, const std::vector<Item>& b, Work& work);

}  // namespace cohort::answers
