// The unit of a value: 5 cm^2, 60 km/h, $5.
#pragma once

#include "libs/answers/internal/scalars.h"
#include "libs/answers/internal/units.h"

namespace cohort::answers {

struct Measure {
  bool has_unit = false;
  Dimension dimension;
  bool is_pound = false;  ///< written as "pound" or "pounds", which may be money

  bool is_degree() const { return dimension == Dimension{{"degree", 1}}; }
  bool is_radian() const { return dimension == Dimension{{"radian", 1}}; }
  /// Radians beside other units say nothing: 5 rad/s is 5 /s.
  void drop_radians() { dimension.erase("radian"); }
};

/// The unit of an expression's value; none where no unit is written.
Measure find_measure(const Item& item);

/// The units of a sum of measures in different ones, such as 3 hours 20 minutes; empty for others.
std::vector<std::string> find_summed_units(const Item& item);

/// Does such a sum, or one of measures and plain numbers, stand anywhere in the expression?
bool has_summed_units(const Item& item);

/// The sum against a value without a unit, which may be meant in any of the sum's units: 200 or 3 1/3.
Verdict compare_sum_of_units(const Item& sum, const Item& value);

}  // namespace cohort::answers
