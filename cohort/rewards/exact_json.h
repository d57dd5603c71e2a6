// JSON whose integers keep all their digits: what 64 bits don't hold stands as {"$int": "DIGITS"}, where our
// own JSON would make a float of it.
#pragma once

#include <string>

#include "cohort/core/json.h"

namespace cohort {

/// What `text` holds, long integers as {"$int": "DIGITS"}; discarded where it is no JSON or is nested too
/// deeply.
Json parse_exact_json(const std::string& text);

/// Throws FormatError for a number that may have been a long integer before its digits were lost.
void refuse_rounded(const Json& json);

/// JSON as Python's own reader takes it: {"$int": "DIGITS"} as these digits, {"$float": "nan"} as NaN.
/// Throws FormatError where these hold no number.
std::string to_python_json(const Json& json);

}  // namespace cohort
