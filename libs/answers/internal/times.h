// Times of day and dates, and ratios of three parts and more.
#pragma once

#include <optional>

#include "libs/answers/internal/scalars.h"
#include "libs/answers/internal/verdict.h"

namespace cohort::answers {

/// As times or dates, where both are such; nothing for others.
std::optional<Verdict> compare_calendar(const Item& a, const Item& b);

/// Two ratios of three parts and more, up to their scale.
Verdict compare_ratios(const Item& a, const Item& b, Work& work);

}  // namespace cohort::answers
