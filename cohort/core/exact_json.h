// Integers beyond 64 bits in JSON. Rows keep all their digits (parse_json_line); files of settings round
// them, as read_json says.
#pragma once

#include <string>
#include <string_view>

#include "cohort/core/json.h"

namespace cohort {

/// As to_json_text without indentation, with null for NaN and infinity.
std::string to_lenient_json_text(const Json& value);

/// A value for an integer of any size, given by its decimal digits with a sign or none: a number where 64
/// bits hold it, else a long integer, which nlohmann's own number types can't be. to_json_text writes its
/// digits.
Json make_integer(std::string_view digits);

/// Does `value` hold an integer beyond 64 bits?
bool is_long_integer(const Json& value);

/// Its digits, with a minus where it is negative.
std::string_view long_integer_digits(const Json& value);

/// What `text` holds, integers with all their digits; discarded where it is no JSON, or is nested too deeply.
/// The last of equal keys counts.
Json parse_exact_json(const std::string& text);

}  // namespace cohort
