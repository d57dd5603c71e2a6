#include "libs/common/big_integer.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "libs/common/ascii.h"
#include "libs/common/check.h"

namespace cohort {
namespace {

using Limbs = std::vector<uint32_t>;

void trim(Limbs& limbs) {
  while (!limbs.empty() && limbs.back() == 0) limbs.pop_back();
}

int compare_limbs(const Limbs& left, const Limbs& right) {
  if (left.size() != right.size()) return left.size() < right.size() ? -1 : 1;
  for (size_t i = left.size(); i-- > 0;) {
    if (left[i] != right[i]) return left[i] < right[i] ? -1 : 1;
  }
  return 0;
}

Limbs add_limbs(const Limbs& left, const Limbs& right) {
  Limbs sum;
  uint64_t carry = 0;
  for (size_t i = 0; i < std::max(left.size(), right.size()) || carry != 0; ++i) {
    carry += (i < left.size() ? left[i] : 0) + uint64_t{i < right.size() ? right[i] : 0};
    sum.push_back(static_cast<uint32_t>(carry));
    carry >>= 32;
  }
  return sum;
}

// `left` is not below `right`.
Limbs subtract_limbs(Limbs left, const Limbs& right) {
  int64_t borrow = 0;
  for (size_t i = 0; i < left.size(); ++i) {
    int64_t digit = int64_t{left[i]} - (i < right.size() ? right[i] : 0) + borrow;
    borrow = digit < 0 ? -1 : 0;
    left[i] = static_cast<uint32_t>(digit);
  }
  trim(left);
  return left;
}

// Divides in place; returns the remainder.
uint32_t divide_by_small(Limbs& limbs, uint32_t divisor) {
  uint64_t rest = 0;
  for (size_t i = limbs.size(); i-- > 0;) {
    rest = rest << 32 | limbs[i];
    limbs[i] = static_cast<uint32_t>(rest / divisor);
    rest %= divisor;
  }
  trim(limbs);
  return static_cast<uint32_t>(rest);
}

void multiply_and_add(Limbs& limbs, uint32_t factor, uint32_t more) {
  uint64_t carry = more;
  for (uint32_t& limb : limbs) {
    carry += uint64_t{limb} * factor;
    limb = static_cast<uint32_t>(carry);
    carry >>= 32;
  }
  if (carry != 0) limbs.push_back(static_cast<uint32_t>(carry));
}

// Bit by bit: simple, and for the sizes of templates fast enough.
std::pair<Limbs, Limbs> divide_limbs(const Limbs& left, const Limbs& right) {
  Limbs quotient(left.size(), 0), rest;
  for (size_t bit = left.size() * 32; bit-- > 0;) {
    multiply_and_add(rest, 2, left[bit / 32] >> bit % 32 & 1U);
    if (compare_limbs(rest, right) < 0) continue;
    rest = subtract_limbs(std::move(rest), right);
    quotient[bit / 32] |= 1U << bit % 32;
  }
  trim(quotient);
  return {std::move(quotient), std::move(rest)};
}

std::optional<uint32_t> digit_of(char c, int base) {
  const int digit = is_digit(c) ? c - '0' : is_letter(c) ? (c | 0x20) - 'a' + 10 : base;
  return digit < base ? std::optional(static_cast<uint32_t>(digit)) : std::nullopt;
}

}  // namespace

BigInteger::BigInteger(Limbs limbs, bool is_negative) : limbs_(std::move(limbs)) {
  trim(limbs_);
  is_negative_ = is_negative && !limbs_.empty();
}

BigInteger::BigInteger(int64_t value) : is_negative_(value < 0) {
  uint64_t size = value < 0 ? ~static_cast<uint64_t>(value) + 1 : static_cast<uint64_t>(value);
  for (; size != 0; size >>= 32) limbs_.push_back(static_cast<uint32_t>(size));
}

std::optional<BigInteger> BigInteger::parse(std::string_view text, int base) {
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty()) return std::nullopt;
  Limbs limbs;
  for (const char c : text) {
    const auto digit = digit_of(c, base);
    if (!digit) return std::nullopt;
    multiply_and_add(limbs, static_cast<uint32_t>(base), *digit);
  }
  return BigInteger(std::move(limbs), is_negative);
}

BigInteger BigInteger::truncated(double number) {
  constexpr int kMantissa = 53;
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(std::trunc(number)), &exponent);
  BigInteger result(static_cast<int64_t>(std::ldexp(fraction, kMantissa)));
  for (; exponent > kMantissa; --exponent) multiply_and_add(result.limbs_, 2, 0);
  for (; exponent < kMantissa; ++exponent) divide_by_small(result.limbs_, 2);
  return BigInteger(std::move(result.limbs_), number < 0);
}

std::string BigInteger::text(int base) const {
  if (is_zero()) return "0";
  const auto small_base = static_cast<uint32_t>(base);
  uint32_t chunk = small_base;
  int num_digits = 1;  // of a chunk
  for (; chunk <= UINT32_MAX / small_base; chunk *= small_base) ++num_digits;
  std::string digits;
  for (Limbs rest = limbs_; !rest.empty();) {
    uint32_t part = divide_by_small(rest, chunk);
    for (int i = 0; i < num_digits && (part != 0 || !rest.empty()); ++i, part /= small_base)
      digits += "0123456789abcdefghijklmnopqrstuvwxyz"[part % small_base];
  }
  if (is_negative_) digits += '-';
  std::reverse(digits.begin(), digits.end());
  return digits;
}

double BigInteger::to_double() const {
  constexpr size_t kEnough = 3;  // limbs, which hold more bits than a double
  long double number = 0;
  const size_t first = limbs_.size() > kEnough ? limbs_.size() - kEnough : 0;
  for (size_t i = limbs_.size(); i-- > first;) number = std::ldexp(number, 32) + limbs_[i];
  number = std::ldexp(number, static_cast<int>(32 * first));
  return static_cast<double>(is_negative_ ? -number : number);
}

std::optional<int64_t> BigInteger::to_int64() const {
  if (limbs_.size() > 2) return std::nullopt;
  uint64_t size = 0;
  for (size_t i = limbs_.size(); i-- > 0;) size = size << 32 | limbs_[i];
  constexpr uint64_t kLargest = INT64_MAX;
  if (size > kLargest + (is_negative_ ? 1 : 0)) return std::nullopt;
  return static_cast<int64_t>(is_negative_ ? ~size + 1 : size);
}

BigInteger operator-(BigInteger value) {
  value.is_negative_ = !value.is_negative_ && !value.limbs_.empty();
  return value;
}

BigInteger operator+(const BigInteger& left, const BigInteger& right) {
  if (left.is_negative_ == right.is_negative_)
    return BigInteger(add_limbs(left.limbs_, right.limbs_), left.is_negative_);
  const bool is_left = compare_limbs(left.limbs_, right.limbs_) >= 0;
  const BigInteger &larger = is_left ? left : right, &smaller = is_left ? right : left;
  return BigInteger(subtract_limbs(larger.limbs_, smaller.limbs_), larger.is_negative_);
}

BigInteger operator-(const BigInteger& left, const BigInteger& right) { return left + -BigInteger(right); }

BigInteger operator*(const BigInteger& left, const BigInteger& right) {
  Limbs product(left.limbs_.size() + right.limbs_.size(), 0);
  for (size_t i = 0; i < left.limbs_.size(); ++i) {
    uint64_t carry = 0;
    for (size_t j = 0; j < right.limbs_.size(); ++j) {
      carry += uint64_t{left.limbs_[i]} * right.limbs_[j] + product[i + j];
      product[i + j] = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
    product[i + right.limbs_.size()] = static_cast<uint32_t>(carry);
  }
  return BigInteger(std::move(product), left.is_negative_ != right.is_negative_);
}

std::pair<BigInteger, BigInteger> BigInteger::divide(const BigInteger& left, const BigInteger& right) {
  COHORT_CHECK(!right.is_zero(), "Division by zero.");
  auto [quotient, rest] = divide_limbs(left.limbs_, right.limbs_);
  BigInteger whole(std::move(quotient), left.is_negative_ != right.is_negative_);
  BigInteger remainder(std::move(rest), left.is_negative_);
  const bool is_below = !remainder.is_zero() && left.is_negative_ != right.is_negative_;
  if (is_below) return {whole - BigInteger(1), remainder + right};
  return {std::move(whole), std::move(remainder)};
}

int BigInteger::compare(const BigInteger& left, const BigInteger& right) {
  if (left.is_negative_ != right.is_negative_) return left.is_negative_ ? -1 : 1;
  const int order = compare_limbs(left.limbs_, right.limbs_);
  return left.is_negative_ ? -order : order;
}

}  // namespace cohort
