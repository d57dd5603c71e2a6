// Expressions that stand in prose without delimiters.
#pragma once

#include <string_view>

#include "cohort/rewards/math/formulas.h"

namespace cohort::math {

/// Where the expression ends that begins at `begin`: the longest run that belongs to it, as in "2\sqrt{3}",
/// "(1, 2)", "x = 5 x 10^6" or "12 cm^2", without operators at its end. `begin` where none begins there.
/// Takes bounded time a byte.
size_t bare_expression_end(std::string_view text, size_t begin, const FormulaFinder& formulas);

}  // namespace cohort::math
