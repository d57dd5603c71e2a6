// Exact fractions of 128-bit integers.
#pragma once

#include <optional>

namespace cohort {

/// In lowest terms, the denominator positive: equal values have equal members.
struct Rational {
  __int128 numerator = 0;
  __int128 denominator = 1;

  bool operator==(const Rational&) const = default;
};

/// `left op right` for one of + - * /. Nothing when the result does not fit, or for a division by zero.
std::optional<Rational> apply_operator(char op, const Rational& left, const Rational& right);

}  // namespace cohort
