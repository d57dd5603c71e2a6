// Python literals: numbers, strings, bytes, None, True, False, and lists, tuples, sets and dicts of them.
#pragma once

#include <optional>
#include <string_view>

#include "cohort/rewards/typed_value.h"

namespace cohort {

/// The value of `text`; nothing where it is not a literal. float("inf"), float("nan"), and set, frozenset,
/// list, tuple and sorted of a literal count as such.
std::optional<TypedValue> parse_python_literal(std::string_view text);

}  // namespace cohort
