// The number that an answer is, in floating point and with its unit.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cohort/rewards/math/fraction.h"
#include "cohort/rewards/math/units.h"

namespace cohort::math {

struct Quantity {
  double value = 0.0;                 ///< as written, a percentage not divided
  double base_value = 0.0;            ///< in base units: meters, kilograms, seconds, radians
  std::optional<Fraction> integer{};  ///< the exact `value`, where it is an integer
  bool is_percent = false;
  Dimension dimension{};  ///< empty without a unit of the table; what is counted (12 apples) is none
};

/// The real number that `text` is: 1,234.5  -3/4  2\sqrt{3}  6.02e23  12.5 %  $5  x = 3 km. Nothing where it
/// is no number, or several.
std::optional<Quantity> read_quantity(std::string_view text);

struct Tolerance {
  double absolute = 0.0, relative = 0.0;
  double integer_relative = 0.0;  ///< instead of `relative` between two integers, which are compared exactly
};

/// |a - b| <= max(absolute, relative * |b|), in base units where both have a unit. Where one alone has a
/// percent sign, both 25 and 0.25 are 25 %. Quantities of different dimensions differ.
bool is_close(const Quantity& a, const Quantity& b, const Tolerance& tolerance);

/// Does `answer` round to `gold`, which must be a decimal: 100/3 to 33.3? Units and percent signs as in
/// is_close.
bool rounds_to(std::string_view answer, std::string_view gold);

/// For an explanation: "12.5 %", "3000 m".
std::string describe(const std::optional<Quantity>& quantity);

}  // namespace cohort::math
