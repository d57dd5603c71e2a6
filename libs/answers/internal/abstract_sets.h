// Sets that are letters, joined by union, intersection and difference.
#pragma once

#include <optional>

#include "libs/answers/internal/scalars.h"
#include "libs/answers/internal/verdict.h"

namespace cohort::answers {

/// Compares two expressions of letters as sets; nothing unless both are letters and one joins some.
std::optional<Verdict> compare_abstract_sets(const Item& a, const Item& b);

}  // namespace cohort::answers
