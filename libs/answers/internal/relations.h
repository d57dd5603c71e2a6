// Equations and inequalities, and the values that they give to names.
#pragma once

#include <optional>
#include <string>

#include "libs/answers/internal/scalars.h"
#include "libs/answers/internal/verdict.h"

namespace cohort::answers {

/// x = 5 gives x the value 5; 5 = x too, and (x, y) = (1, 2) gives the tuple one.
struct Definition {
  std::string name;
  Item value;
};

/// The name of a variable, or those of a tuple of variables, each with a comma behind it; nothing for others.
std::optional<std::string> find_names(const Item& item);

/// Nothing for other relations. A chain such as x = 2 + 3 = 5 gives its last side, where all sides agree.
std::optional<Definition> find_definition(const Item& relation, Work& work);

/// Are both names of one function's value: y and f(x)?
bool is_same_function_name(const std::string& a, const std::string& b);

/// The value that an equation gives to what was asked for, as in f(2) = 4, AB = 5, sin A = 3/5, x + y = 7.
/// Nothing where a number is a term, a factor or a power on the left: 2x = 7 is an equation to solve.
std::optional<Item> find_value_of_quantity(const Item& relation, Work& work);

/// The value of a true statement without variables, such as 3 + 4 = 7; nothing for other relations.
std::optional<Item> find_statement_value(const Item& relation, Work& work);

/// Compares two relations as they stand.
Verdict compare_relations(const Item& a, const Item& b, Work& work);

}  // namespace cohort::answers
