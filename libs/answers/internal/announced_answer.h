// Answers behind "the answer is".
#pragma once

#include <string_view>

#include "libs/answers/internal/statement.h"

namespace cohort::answers {

/// What follows the last "answer is" or "answer:", or a #### behind it with an answer in its line. What takes
/// the answer back ("Wait, that is wrong") leaves what the text concludes after it.
Finding find_announced(std::string_view text);

/// What a text without marks concludes: all of it where it is an answer, or else the last formula, or else
/// the last expression without delimiters, with what joins it to others before it.
Finding find_concluded(std::string_view text);

}  // namespace cohort::answers
