#include "cohort/rewards/rational.h"

#include <charconv>
#include <cstdlib>
#include <string>

#include "cohort/rewards/answer_text.h"

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

bool consume_prefix(std::string_view& text, std::string_view prefix) {
  if (text.substr(0, prefix.size()) != prefix) return false;
  text.remove_prefix(prefix.size());
  return true;
}

bool consume_suffix(std::string_view& text, std::string_view suffix) {
  if (text.size() < suffix.size() || text.substr(text.size() - suffix.size()) != suffix) return false;
  text.remove_suffix(suffix.size());
  return true;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view take_digits(std::string_view& text) {
  size_t count = 0;
  while (count < text.size() && is_digit(text[count])) ++count;
  std::string_view digits = text.substr(0, count);
  text.remove_prefix(count);
  return digits;
}

// Digits, in groups of three after the first comma; nothing when a group has another size.
std::optional<std::string> take_grouped_digits(std::string_view& text) {
  std::string digits(take_digits(text));
  if (text.empty() || text[0] != ',' || digits.empty() || digits.size() > 3) return digits;
  while (consume_prefix(text, ",")) {
    std::string_view group = take_digits(text);
    if (group.size() != 3) return std::nullopt;
    digits += group;
  }
  return digits;
}

// digits * 10^exponent.
ParsedNumber scale_digits(const std::string& digits, int exponent) {
  Rational value;
  for (char digit : digits) {
    if (!times(value.numerator, 10, value.numerator) ||
        !plus(value.numerator, digit - '0', value.numerator)) {
      return {NumberStatus::kTooLarge, {}};
    }
  }
  __int128& side = exponent > 0 ? value.numerator : value.denominator;
  for (int i = 0; i < std::abs(exponent) && value.numerator != 0; ++i) {
    if (!times(side, 10, side)) return {NumberStatus::kTooLarge, {}};
  }
  return {NumberStatus::kOk, *reduced(value.numerator, value.denominator)};
}

// An exponent such as e-3, or nothing to read and 0.
std::optional<int> take_exponent(std::string_view& text) {
  if (!consume_prefix(text, "e") && !consume_prefix(text, "E")) return 0;
  consume_prefix(text, "+");
  int exponent = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), exponent);
  if (error != std::errc() || std::abs(exponent) > 1000) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return exponent;
}

ParsedNumber parse_decimal(std::string_view text) {
  text = trim(text);
  bool is_negative = consume_prefix(text, "-");
  if (!is_negative) consume_prefix(text, "+");
  text = trim(text);
  std::optional<std::string> digits = take_grouped_digits(text);
  if (!digits) return {};
  std::string_view decimals;
  if (consume_prefix(text, ".")) decimals = take_digits(text);
  if (digits->empty() && decimals.empty()) return {};
  while (consume_suffix(decimals, "0")) {
  }
  std::optional<int> exponent = take_exponent(text);
  if (!exponent || !text.empty()) return {};
  if (decimals.size() > 1000) return {NumberStatus::kTooLarge, {}};
  ParsedNumber number =
      scale_digits(*digits + std::string(decimals), *exponent - static_cast<int>(decimals.size()));
  if (is_negative) number.value.numerator = -number.value.numerator;
  return number;
}

ParsedNumber divide(const ParsedNumber& left, const ParsedNumber& right) {
  if (left.status != NumberStatus::kOk) return left;
  if (right.status != NumberStatus::kOk) return right;
  if (right.value.numerator == 0) return {};
  std::optional<Rational> value = apply_operator('/', left.value, right.value);
  return value ? ParsedNumber{NumberStatus::kOk, *value} : ParsedNumber{NumberStatus::kTooLarge, {}};
}

// a, a / b or \frac{a}{b}.
ParsedNumber parse_fraction(std::string_view text) {
  std::string_view rest = text;
  bool is_negative = consume_prefix(rest, "-");
  for (std::string_view name : {"\\frac{", "\\dfrac{", "\\tfrac{"}) {
    if (!consume_prefix(rest, name)) continue;
    size_t middle = rest.find("}{");
    if (middle == std::string_view::npos || !consume_suffix(rest, "}")) return {};
    ParsedNumber number =
        divide(parse_decimal(rest.substr(0, middle)), parse_decimal(rest.substr(middle + 2)));
    if (is_negative) number.value.numerator = -number.value.numerator;
    return number;
  }
  size_t slash = text.find('/');
  if (slash == std::string_view::npos) return parse_decimal(text);
  return divide(parse_decimal(text.substr(0, slash)), parse_decimal(text.substr(slash + 1)));
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

ParsedNumber parse_number(std::string_view text) {
  text = trim(text);
  if (consume_prefix(text, "$")) consume_suffix(text, "$");  // $5 and $\frac{1}{2}$
  consume_prefix(text, "\\$");
  text = trim(text);
  bool is_percent = consume_suffix(text, "\\%") || consume_suffix(text, "%");
  ParsedNumber number = parse_fraction(trim(text));
  if (!is_percent) return number;
  return divide(number, {NumberStatus::kOk, {100, 1}});
}

}  // namespace cohort
