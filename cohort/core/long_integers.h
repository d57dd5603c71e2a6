// Integers beyond 64 bits in JSON text, which nlohmann's parser rounds or refuses. Private to core.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cohort {

/// A JSON text whose long integers are replaced by numbers of the same length that a parser takes, and these
/// integers.
struct HiddenIntegers {
  std::string text{};                   ///< empty where there are none
  std::vector<std::string> integers{};  ///< in the order of the text
};

HiddenIntegers hide_long_integers(std::string_view text);

/// The integer that `token`, a number of the parser, stands for; null where it stands for itself.
const std::string* find_hidden(const std::vector<std::string>& integers, std::string_view token);

/// Do 64 bits, signed or not, hold the integer with these digits?
bool fits_64_bits(std::string_view digits);

}  // namespace cohort
