// Integers of any size, with Python's arithmetic.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cohort {

class BigInteger {
 public:
  BigInteger() = default;
  explicit BigInteger(int64_t value);

  /// The digits of base 2 to 36 in upper or lower case, after an optional sign; nothing for other texts.
  static std::optional<BigInteger> parse(std::string_view text, int base = 10);

  /// The integer part of a finite number.
  static BigInteger truncated(double number);

  std::string text(int base = 10) const;
  /// Infinite where no double is near.
  double to_double() const;
  std::optional<int64_t> to_int64() const;
  bool is_zero() const { return limbs_.empty(); }
  bool is_negative() const { return is_negative_; }
  /// Limbs of 32 bits: the work of an operation grows with the product of those of its operands.
  int64_t num_limbs() const { return static_cast<int64_t>(limbs_.size()); }

  friend BigInteger operator-(BigInteger value);
  friend BigInteger operator+(const BigInteger& left, const BigInteger& right);
  friend BigInteger operator-(const BigInteger& left, const BigInteger& right);
  friend BigInteger operator*(const BigInteger& left, const BigInteger& right);

  /// Quotient and remainder, rounded down as Python's // and %; `right` must not be 0.
  static std::pair<BigInteger, BigInteger> divide(const BigInteger& left, const BigInteger& right);

  /// -1, 0 or 1.
  static int compare(const BigInteger& left, const BigInteger& right);

 private:
  using Limbs = std::vector<uint32_t>;  // the lowest first, no zero at the end

  BigInteger(Limbs limbs, bool is_negative);

  Limbs limbs_;
  bool is_negative_ = false;  // never for 0
};

}  // namespace cohort
