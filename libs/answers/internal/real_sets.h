// Sets of real numbers: intervals, unions, inequalities in one unknown, finite sets among them.
#pragma once

#include "libs/answers/internal/scalars.h"
#include "libs/answers/internal/verdict.h"

namespace cohort::answers {

/// Is it certainly a set of reals: a union, an inequality, the reals? (1, 2) alone may be a point.
bool is_real_set(const Item& item);

/// Compares two sets of reals, of which one may be written as an interval or a finite set.
Verdict compare_real_sets(const Item& a, const Item& b, Work& work);

}  // namespace cohort::answers
