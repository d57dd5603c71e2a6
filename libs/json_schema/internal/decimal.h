// JSON numbers as they are written, without rounding: 0.1 is one tenth, and 10^20 + 1 is no 10^20.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cohort::json_schema {

/// digits * 10^exponent. Equal values have equal members.
struct Decimal {
  bool is_negative = false;
  std::string digits{};  ///< without zeros at either end; empty for zero
  int64_t exponent = 0;

  bool is_zero() const { return digits.empty(); }
  bool is_integer() const { return exponent >= 0; }
  bool operator==(const Decimal&) const = default;
};

constexpr size_t kMaxNumberBytes = 1000;
constexpr size_t kMaxExponentDigits = 6;

/// The value of a number in JSON's grammar. Nothing where it is longer than the limits above.
std::optional<Decimal> read_decimal(std::string_view text);

std::strong_ordering compare(const Decimal& left, const Decimal& right);

/// Whether value / divisor is an integer, exactly; `divisor` is not zero.
bool is_multiple(const Decimal& value, const Decimal& divisor);

}  // namespace cohort::json_schema
