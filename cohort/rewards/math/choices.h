// Comparing answers of which one may be a choice's letter with its text.
#pragma once

#include <string>
#include <string_view>

#include "cohort/rewards/math/equivalence.h"

namespace cohort::math {

/// As `judge`; and for choices: "(B) 12" equals B, 12 and "B. 12", but neither "(C) 12" nor "(B) 13".
Judgement judge_choice(std::string_view gold, std::string_view answer);

/// As `describe_answer`; a choice with its text as "choice B, 12".
std::string describe_choice(std::string_view answer);

}  // namespace cohort::math
