// Exact fractions of any size: FLINT's fmpq as a value.
#pragma once

#include <flint/fmpq.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cohort::answers {

class Fraction {
 public:
  Fraction() { fmpq_init(value_); }
  Fraction(int64_t numerator, uint64_t denominator = 1) : Fraction() {
    fmpq_set_si(value_, numerator, denominator);
  }
  Fraction(const Fraction& other) : Fraction() { fmpq_set(value_, other.value_); }
  Fraction(Fraction&& other) noexcept : Fraction() { fmpq_swap(value_, other.value_); }
  Fraction& operator=(Fraction other) noexcept {
    fmpq_swap(value_, other.value_);
    return *this;
  }
  ~Fraction() { fmpq_clear(value_); }

  const fmpq* get() const { return value_; }
  fmpq* get() { return value_; }

  bool is_zero() const { return fmpq_is_zero(value_); }
  bool is_integer() const { return fmpz_is_one(fmpq_denref(value_)); }
  int sign() const { return fmpq_sgn(value_); }
  /// Bits of the numerator and the denominator together.
  int64_t bits() const {
    return static_cast<int64_t>(fmpz_bits(fmpq_numref(value_)) + fmpz_bits(fmpq_denref(value_)));
  }
  /// The value where it is an integer of at most 62 bits.
  std::optional<int64_t> small_integer() const {
    if (!is_integer() || fmpz_bits(fmpq_numref(value_)) > 62) return std::nullopt;
    return fmpz_get_si(fmpq_numref(value_));
  }

  friend Fraction operator+(const Fraction& a, const Fraction& b) { return apply(fmpq_add, a, b); }
  friend Fraction operator-(const Fraction& a, const Fraction& b) { return apply(fmpq_sub, a, b); }
  friend Fraction operator*(const Fraction& a, const Fraction& b) { return apply(fmpq_mul, a, b); }
  /// `b` must not be zero.
  friend Fraction operator/(const Fraction& a, const Fraction& b) { return apply(fmpq_div, a, b); }
  friend bool operator==(const Fraction& a, const Fraction& b) { return fmpq_equal(a.value_, b.value_); }
  friend bool operator<(const Fraction& a, const Fraction& b) { return fmpq_cmp(a.value_, b.value_) < 0; }

 private:
  template <typename Operation>
  static Fraction apply(Operation operation, const Fraction& a, const Fraction& b) {
    Fraction result;
    operation(result.value_, a.value_, b.value_);
    return result;
  }

  fmpq_t value_;
};

/// base^exponent; the base must not be zero where the exponent is negative.
Fraction power(const Fraction& base, int64_t exponent);

/// Reads 12, 1.5, 0.1(6) with the repeating digits in parentheses. Nothing for more than 1000 characters.
std::optional<Fraction> read_decimal(std::string_view text);

/// The decimal digits of what `digits` spell in a base of 2 to 10.
std::string to_decimal_digits(const std::string& digits, int base);

}  // namespace cohort::answers
