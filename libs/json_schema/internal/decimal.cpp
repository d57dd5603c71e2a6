#include "libs/json_schema/internal/decimal.h"

#include <flint/fmpz.h>

#include <algorithm>
#include <charconv>

namespace cohort::json_schema {
namespace {

class Integer {
 public:
  explicit Integer(const std::string& digits) {
    fmpz_init(value_);
    fmpz_set_str(value_, digits.c_str(), 10);
  }
  ~Integer() { fmpz_clear(value_); }
  Integer(const Integer&) = delete;
  Integer& operator=(const Integer&) = delete;

  fmpz* get() { return value_; }

 private:
  fmpz_t value_;
};

// Nothing where it has too many digits.
std::optional<int64_t> read_exponent(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  text.remove_prefix(std::min(text.find_first_not_of('0'), text.size()));
  if (text.size() > kMaxExponentDigits) return std::nullopt;
  int64_t exponent = 0;
  std::from_chars(text.data(), text.data() + text.size(), exponent);
  return is_negative ? -exponent : exponent;
}

void strip_zeros(Decimal& number) {
  const size_t begin = std::min(number.digits.find_first_not_of('0'), number.digits.size());
  const size_t end = number.digits.find_last_not_of('0') + 1;  // 0 where there are zeros alone
  if (begin >= end) {
    number = {};
    return;
  }
  number.exponent += static_cast<int64_t>(number.digits.size() - end);
  number.digits = number.digits.substr(begin, end - begin);
}

}  // namespace

std::optional<Decimal> read_decimal(std::string_view text) {
  if (text.size() > kMaxNumberBytes) return std::nullopt;
  Decimal number;
  number.is_negative = text.starts_with('-');
  if (number.is_negative) text.remove_prefix(1);
  const size_t mark = std::min(text.find_first_of("eE"), text.size());
  if (mark < text.size()) {
    const std::optional<int64_t> exponent = read_exponent(text.substr(mark + 1));
    if (!exponent) return std::nullopt;
    number.exponent = *exponent;
    text = text.substr(0, mark);
  }
  const size_t point = std::min(text.find('.'), text.size());
  number.digits = text.substr(0, point);
  if (point < text.size()) {
    number.digits += text.substr(point + 1);
    number.exponent -= static_cast<int64_t>(text.size() - point - 1);
  }
  strip_zeros(number);
  return number;
}

std::strong_ordering compare(const Decimal& left, const Decimal& right) {
  const auto sign = [](const Decimal& number) { return number.is_zero() ? 0 : number.is_negative ? -1 : 1; };
  if (sign(left) != sign(right)) return sign(left) <=> sign(right);
  if (left.is_zero()) return std::strong_ordering::equal;
  const Decimal& first = left.is_negative ? right : left;  // by magnitude
  const Decimal& second = left.is_negative ? left : right;
  const auto order = [](const Decimal& number) {
    return static_cast<int64_t>(number.digits.size()) + number.exponent;
  };
  if (order(first) != order(second)) return order(first) <=> order(second);
  return first.digits <=> second.digits;
}

bool is_multiple(const Decimal& value, const Decimal& divisor) {
  if (value.is_zero()) return true;
  // The digits of `value` do not end in zero: no power of ten divides them.
  if (value.exponent < divisor.exponent) return false;
  Integer dividend(value.digits), modulus(divisor.digits), ten("10"), power("0");
  const auto exponent = static_cast<uint64_t>(value.exponent - divisor.exponent);
  fmpz_powm_ui(power.get(), ten.get(), exponent, modulus.get());
  fmpz_mul(dividend.get(), dividend.get(), power.get());
  return fmpz_divisible(dividend.get(), modulus.get()) != 0;
}

}  // namespace cohort::json_schema
