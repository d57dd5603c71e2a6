// JSON text that keeps the digits of integers beyond 64 bits (libs/common/long_integers.h). Rows keep them
// too (parse_json_line); files of settings round them, as read_json says.
#pragma once

#include <string>
#include <string_view>

#include "cohort/core/json.h"

namespace cohort {

/// As to_json_text without indentation, with null for NaN and infinity.
std::string to_lenient_json_text(const Json& value);

/// The value of `text`, integers with all their digits; discarded if the text is no JSON or is nested too
/// deeply, and then `fault`, where it is given, says what is wrong at which byte. The last of equal keys
/// counts.
Json parse_exact_json(const std::string& text, std::string* fault = nullptr);

}  // namespace cohort
