// Comparing answers of which one may be a choice's letter with its text.
#pragma once

#include <string_view>

#include "cohort/rewards/math/equivalence.h"

namespace cohort::math {

/// As `judge`; and for choices: "(B) 12" equals B, 12 and "B. 12", but neither "(C) 12" nor "(B) 13".
Judgement judge_choice(std::string_view gold, std::string_view answer);

}  // namespace cohort::math
