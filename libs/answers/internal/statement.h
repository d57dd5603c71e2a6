// The answer that a sentence states.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "libs/answers/extraction.h"
#include "libs/answers/internal/prose.h"

namespace cohort::answers {

/// The answer of a sentence that follows "the answer is": a value, or values joined by commas, "and" and
/// "or", which are a list. What else stands there must be words known to change nothing; any other value is
/// refused.
Finding read_stated(const Sentence& sentence);

/// The last value, or list, of a sentence that may say anything. With `is_formula` it must be a formula, or
/// what a formula is said to be.
Finding read_concluding(const Sentence& sentence, bool is_formula);

}  // namespace cohort::answers
