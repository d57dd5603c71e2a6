// Lists of named values: x = 1, y = 2.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libs/answers/internal/scalars.h"
#include "libs/answers/internal/verdict.h"

namespace cohort::answers {

/// In the order as written.
using NamedValues = std::vector<std::pair<std::string, Item>>;

/// The values of a list of equations by name, or of (m, n) = (3, 4); empty where an item is none, a name
/// comes twice, there are fewer than two, or they are alternatives.
NamedValues find_named_values(const Item& item, Work& work);

/// Are the names of a tuple, each with a comma behind it, those of a row such as x, y, z in another order?
bool are_out_of_order(std::string_view names);

/// Name by name.
Verdict compare_named_values(const NamedValues& a, const NamedValues& b, Work& work);

/// Against a point, a list or a set without names. x, y, z and a, b, c come in this order, other names as
/// they are written, which must not be against the alphabet's order (n, m); x_1, x_2 are values of one
/// unknown, in any order unless they stand against a point. A set or list of one point is that point.
Verdict compare_with_unnamed(const NamedValues& named, const Item& other, Work& work);

}  // namespace cohort::answers
