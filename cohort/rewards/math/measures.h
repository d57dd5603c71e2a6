// The unit of a value: 5 cm^2, 60 km/h, $5.
#pragma once

#include "cohort/rewards/math/scalars.h"
#include "cohort/rewards/math/units.h"

namespace cohort::math {

struct Measure {
  bool has_unit = false;
  Dimension dimension;

  bool is_degree() const { return dimension == Dimension{{"degree", 1}}; }
};

/// The unit that an expression's product ends in; none where no unit is written.
Measure find_measure(const Item& item);

}  // namespace cohort::math
