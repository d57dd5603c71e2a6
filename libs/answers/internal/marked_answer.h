// Answers in tags and boxes.
#pragma once

#include <string_view>

#include "libs/answers/internal/statement.h"

namespace cohort::answers {

/// The last box with a minus sign that touches it, or the last ones that "and", "or" or a comma joins, as a
/// list. An open box is refused.
Finding find_boxed(std::string_view text);

/// The inside of the last <answer>: of a box there, behind "answer is", or all of it.
Finding find_tagged(std::string_view text);

}  // namespace cohort::answers
