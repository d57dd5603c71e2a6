// Expressions that stand in prose without delimiters.
#pragma once

#include <string_view>

#include "libs/answers/internal/formulas.h"

namespace cohort::answers {

struct BareExpression {
  size_t end = 0;
  bool is_cut = false;  ///< what touches it may belong to its value: 2ⁿ, 1.2.3, 12 500 700 5
};

/// The expression that begins at `begin`: the longest run that belongs to it, as in "2\sqrt{3}", "(1, 2)",
/// "x = 5 x 10^6" or "12 cm^2", without operators at its end. It ends at `begin` where none begins there.
/// Takes bounded time a byte.
BareExpression read_bare_expression(std::string_view text, size_t begin, const FormulaFinder& formulas);

}  // namespace cohort::answers
