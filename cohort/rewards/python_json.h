// JSON for Python's own reader.
#pragma once

#include <string>

#include "cohort/core/json.h"

namespace cohort {

/// JSON as Python's own reader takes it: {"$int": "DIGITS"} as these digits, {"$float": "nan"} as NaN.
/// Throws FormatError where these hold no number.
std::string to_python_json(const Json& json);

}  // namespace cohort
