// Where functions with sizes, roots, floors and ceilings bend or jump.
#pragma once

#include <vector>

#include "libs/answers/internal/evaluation.h"
#include "libs/answers/internal/scalars.h"

namespace cohort::answers {

/// Points at and between the places where what is linear inside a size, a root, a floor or a ceiling of
/// either expression passes 0 (or small integers, for steps), along each variable in turn with the others at
/// small integers; with `are_integers` the integers around these places, of a single variable all small ones
/// too. Does not depend on the order of the two.
std::vector<Values> kink_points(const Item& a, const Item& b, bool are_integers);

}  // namespace cohort::answers
