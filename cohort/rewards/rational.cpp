#include "cohort/rewards/rational.h"

namespace cohort {
namespace {

std::optional<Rational> reduced(__int128 numerator, __int128 denominator) {
  if (denominator == 0) return std::nullopt;
  __int128 a = numerator;
  __int128 b = denominator;
  while (b != 0) {
    __int128 rest = a % b;
    a = b;
    b = rest;
  }
  // The sign of the divisor goes with the denominator's; -2^127 has no opposite, and no input reaches it (see
  // `times`).
  if ((a < 0) != (denominator < 0)) a = -a;
  return Rational{numerator / a, denominator / a};
}

// Products are kept within +-(2^127 - 1), so that negation is always defined.
bool times(__int128 a, __int128 b, __int128& product) {
  constexpr __int128 kMin = static_cast<__int128>(1) << 127;
  return !__builtin_mul_overflow(a, b, &product) && product != kMin;
}

bool plus(__int128 a, __int128 b, __int128& sum) {
  constexpr __int128 kMin = static_cast<__int128>(1) << 127;
  return !__builtin_add_overflow(a, b, &sum) && sum != kMin;
}

}  // namespace

std::optional<Rational> apply_operator(char op, const Rational& left, const Rational& right) {
  __int128 first = 0;
  __int128 second = 0;
  __int128 denominator = 0;
  bool fits = false;
  if (op == '*') {
    fits = times(left.numerator, right.numerator, first) &&
           times(left.denominator, right.denominator, denominator);
  } else if (op == '/') {
    fits = times(left.numerator, right.denominator, first) &&
           times(left.denominator, right.numerator, denominator);
  } else {
    fits = times(left.numerator, right.denominator, first) &&
           times(right.numerator, left.denominator, second) &&
           times(left.denominator, right.denominator, denominator) &&
           plus(first, op == '-' ? -second : second, first);
  }
  if (!fits) return std::nullopt;
  return reduced(first, denominator);
}

}  // namespace cohort
