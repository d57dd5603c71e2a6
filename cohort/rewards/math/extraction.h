// Where in a completion, or in a worked solution, the answer stands.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cohort/rewards/math/statement.h"

namespace cohort::math {

enum class AnswerPlace {
  kTag,         ///< the last <answer>...</answer>
  kBoxed,       ///< the last \boxed{...}, or several that "and", "or" or a comma joins
  kPhrase,      ///< behind the last "answer is", "answer:", "ans:" or ####
  kExpression,  ///< the last formula, or else the last expression without delimiters
};

/// The order in which places are tried unless a recipe gives another: the one above.
const std::vector<AnswerPlace>& default_places();

/// The places named tag, boxed, phrase and expression, or the default ones for no name. Throws ConfigError.
std::vector<AnswerPlace> read_places(const std::vector<std::string>& names);

/// The answer of a completion. What stands behind the last </think> decides; only where nothing stands there,
/// a tag or a box before it counts, as in a completion that was cut while thinking. Takes linear time.
Finding find_answer(std::string_view text, const std::vector<AnswerPlace>& places);

/// For an explanation: the answer as it was found, or why there is none.
std::string describe_finding(const Finding& found);

/// The answer of a gold column: the tag, box or #### of a worked solution, or what a sentence with a number
/// says, or else the whole text. Empty where such a sentence states no value.
std::string find_gold_answer(std::string_view column);

}  // namespace cohort::math
