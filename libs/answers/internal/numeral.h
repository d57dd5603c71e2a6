// Numbers as people write them: 12,500.75  12 500,75  12.500.000  12'500  1,23,456  0,5.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cohort::answers {

struct Numeral {
  size_t end = 0;        ///< behind the last digit
  bool is_whole = true;  ///< false where digits and separators fit no notation, as in 1.2.3
  std::string plain;     ///< digits with a point alone; lists and 3,5 as they are written
};

/// The numeral whose first digit stands at `begin`, with all digits and separators that touch it. Without
/// `takes_commas`, as in formulas, a comma ends it.
Numeral read_numeral(std::string_view text, size_t begin, bool takes_commas);

/// The length of the exponent behind `digits` at the start of `rest`: e3 of 1.5e3, E-4 of 2E-4; 0 for none.
/// In 2e-1 Euler's number is meant, where nothing else says "exponent".
size_t exponent_length(std::string_view rest, std::string_view digits);

/// `text` with decimal commas as points: 3,5 as 3.5. Commas before three digits part thousands.
std::string with_decimal_points(std::string_view text);

/// `text` without the point in its only numeral where that may part thousands: 12.500 as 12500. The text
/// itself for others.
std::string without_thousands_point(std::string_view text);

}  // namespace cohort::answers
