// Sets that are letters, joined by union, intersection and difference.
#pragma once

#include <optional>

#include "cohort/rewards/math/scalars.h"
#include "cohort/rewards/math/verdict.h"

namespace cohort::math {

/// Compares two expressions of letters as sets; nothing unless both are letters and one joins some.
std::optional<Verdict> compare_abstract_sets(const Item& a, const Item& b);

}  // namespace cohort::math
