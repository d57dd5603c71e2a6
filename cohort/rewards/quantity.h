// Numbers with units in plain text: "1,234.5", "-3/4", "2 1/2", "6.02e23", "12.5 %", "$5", "3 km".
#pragma once

#include <optional>
#include <string_view>

namespace cohort {

/// What a unit measures; only quantities of one kind can be compared by their size.
enum class Dimension { kNone, kLength, kMass, kTime, kVolume, kSpeed, kAngle, kDollar, kEuro, kPound };

struct Quantity {
  double value = 0.0;  ///< as written, a percentage not divided
  bool is_percent = false;
  Dimension dimension = Dimension::kNone;
  double unit = 1.0;  ///< of its dimension's base unit: 1000 for km
};

/// The number that `text` is, with a sign of currency or a unit or words around it. Nothing where there is no
/// number, or more than one.
std::optional<Quantity> read_quantity(std::string_view text);

/// The last number of a longer text, with the word behind it where that is a unit.
std::optional<Quantity> last_quantity(std::string_view text);

/// |a - b| <= max(absolute, relative * |b|), in base units where both have some. Where one alone has a
/// percent sign, both 25 and 0.25 are 25 %. Quantities of different dimensions differ.
bool is_close(const Quantity& a, const Quantity& b, double absolute, double relative);

}  // namespace cohort
