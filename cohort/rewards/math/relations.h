// Equations and inequalities, and the values that they give to names.
#pragma once

#include <optional>
#include <string>

#include "cohort/rewards/math/scalars.h"
#include "cohort/rewards/math/verdict.h"

namespace cohort::math {

/// x = 5 gives x the value 5; 5 = x too, and (x, y) = (1, 2) gives the tuple one.
struct Definition {
  std::string name;
  Item value;
};

/// Nothing for other relations. A chain such as x = 2 + 3 = 5 gives its last side, where all sides agree.
std::optional<Definition> find_definition(const Item& relation, Work& work);

/// The value of a true statement without variables, such as 3 + 4 = 7; nothing for other relations.
std::optional<Item> find_statement_value(const Item& relation, Work& work);

/// Compares two relations as they stand.
Verdict compare_relations(const Item& a, const Item& b, Work& work);

}  // namespace cohort::math
