// Exact fractions of 128-bit integers, and numbers as people write them.
#pragma once

#include <optional>
#include <string_view>

namespace cohort {

/// In lowest terms, the denominator positive: equal values have equal members.
struct Rational {
  __int128 numerator = 0;
  __int128 denominator = 1;

  bool operator==(const Rational&) const = default;
};

/// `left op right` for one of + - * /. Nothing when the result does not fit, or for a division by zero.
std::optional<Rational> apply_operator(char op, const Rational& left, const Rational& right);

enum class NumberStatus { kOk, kNotANumber, kTooLarge };

struct ParsedNumber {
  NumberStatus status = NumberStatus::kNotANumber;
  Rational value;
};

/// Reads a whole text as a number: sign, digits with or without thousands separators, decimals, exponent, a /
/// b,
/// \frac{a}{b}, a percent sign (a hundredth) and $ around it. kTooLarge: a number that 128 bits can't hold.
ParsedNumber parse_number(std::string_view text);

}  // namespace cohort
