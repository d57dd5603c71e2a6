#include "libs/answers/internal/fraction.h"

namespace cohort::answers {
namespace {

constexpr size_t kMaxDigits = 1000;

// The integer that `digits` spell; 0 for none.
Fraction read_digits(const std::string& digits) {
  Fraction value;
  if (!digits.empty()) fmpz_set_str(fmpq_numref(value.get()), digits.c_str(), 10);
  return value;
}

std::string take_digits(std::string_view& text) {
  size_t count = 0;
  while (count < text.size() && text[count] >= '0' && text[count] <= '9') ++count;
  std::string digits(text.substr(0, count));
  text.remove_prefix(count);
  return digits;
}

// The fraction with the digits `whole`, the decimals `fixed` and then `repeating` for ever.
Fraction from_parts(const std::string& whole, const std::string& fixed, const std::string& repeating) {
  const Fraction scale = power(Fraction(10), static_cast<int64_t>(fixed.size()));
  Fraction value = read_digits(whole + fixed) / scale;
  if (repeating.empty()) return value;
  const Fraction nines = power(Fraction(10), static_cast<int64_t>(repeating.size())) - Fraction(1);
  return value + read_digits(repeating) / nines / scale;
}

}  // namespace

Fraction power(const Fraction& base, int64_t exponent) {
  Fraction result;
  fmpq_pow_si(result.get(), base.get(), exponent);
  return result;
}

std::optional<Fraction> read_decimal(std::string_view text) {
  if (text.size() > kMaxDigits) return std::nullopt;
  const std::string whole = take_digits(text);
  std::string fixed, repeating;
  if (text.substr(0, 1) == ".") {
    text.remove_prefix(1);
    fixed = take_digits(text);
  }
  if (text.substr(0, 1) == "(") {
    text.remove_prefix(1);
    repeating = take_digits(text);
    text.remove_prefix(1);
  }
  return from_parts(whole, fixed, repeating);
}

std::string to_decimal_digits(const std::string& digits, int base) {
  Fraction value;
  fmpz_set_str(fmpq_numref(value.get()), digits.c_str(), base);
  char* text = fmpz_get_str(nullptr, 10, fmpq_numref(value.get()));
  std::string decimal(text);
  flint_free(text);
  return decimal;
}

}  // namespace cohort::answers
