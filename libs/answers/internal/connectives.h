// What joins the conditions of a list: "and" or "or".
#pragma once

#include <optional>

#include "libs/answers/internal/scalars.h"
#include "libs/answers/internal/verdict.h"

namespace cohort::answers {

/// Is it a list of alternatives for different names, such as x = 1 or y = 2?
bool has_alternative_names(const Item& item);

/// Unequal where one answer asks for all conditions and the other for one of them, or where alternatives for
/// different names stand against plain values; nothing where the connectives leave it open.
std::optional<Verdict> compare_connectives(const Item& a, const Item& b);

}  // namespace cohort::answers
