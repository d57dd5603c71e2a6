// Integers beyond 64 bits in JSON, which nlohmann's parser rounds or refuses.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "libs/common/json_value.h"

namespace cohort {

/// A value for an integer of any size, given by its decimal digits with a sign or none: a number where 64
/// bits hold it, else a long integer, which nlohmann's own number types can't be.
Json make_integer(std::string_view digits);

/// Does `value` hold an integer beyond 64 bits?
bool is_long_integer(const Json& value);

/// Its digits, with a minus where it is negative.
std::string_view long_integer_digits(const Json& value);

/// A JSON text whose long integers are replaced by numbers of the same length that a parser takes, and these
/// integers.
struct HiddenIntegers {
  std::string text{};                   ///< empty if there are none
  std::vector<std::string> integers{};  ///< in the order of the text
};

HiddenIntegers hide_long_integers(std::string_view text);

/// The integer that `token`, a number of the parser, replaces; null if the token is the text's own.
const std::string* find_hidden(const std::vector<std::string>& integers, std::string_view token);

/// Whether 64 bits, signed or not, hold the integer with these digits.
bool fits_64_bits(std::string_view digits);

}  // namespace cohort
