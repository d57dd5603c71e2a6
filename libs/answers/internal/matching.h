// Collections whose elements stand in any order.
#pragma once

#include <vector>

#include "libs/answers/internal/scalars.h"
#include "libs/answers/internal/verdict.h"

namespace cohort::answers {

/// Compares them; in lists an element that comes twice counts twice. Whether two elements are equal need not
/// be transitive (a unit may be missing on one side), so in lists each element gets a partner of its own in
/// the best way there is, which no order of the elements changes.
Verdict compare_unordered(const std::vector<Item>& a, const std::vector<Item>& b, bool are_lists, Work& work);

}  // namespace cohort::answers
