// Where in a completion, or in a worked solution, the answer stands. With comparison.h the only door to this
// library.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cohort::answers {

enum class AnswerPlace {
  kTag,         ///< the last <answer>...</answer>
  kBoxed,       ///< the last \boxed{...}, or several that "and", "or" or a comma joins
  kPhrase,      ///< behind the last "answer is", "answer:", "ans:" or ####
  kExpression,  ///< the last formula, or else the last expression without delimiters
};

struct Finding {
  std::optional<std::string> text;
  std::string refusal{};  ///< why what stands there is no answer; empty where nothing stands there
  std::vector<std::string> others{};  ///< further readings of the same text, such as 3.5 of 3,5

  bool is_nothing() const { return !text && refusal.empty(); }
  /// All of them, the first one first.
  std::vector<std::string> readings() const;
};

/// The order in which places are tried unless a recipe gives another: the one above.
const std::vector<AnswerPlace>& default_places();

/// The places named tag, boxed, phrase and expression, or the default ones for no name. Throws
/// std::invalid_argument for another name.
std::vector<AnswerPlace> read_places(const std::vector<std::string>& names);

/// The answer of a completion. What stands behind the last </think> decides; only where nothing stands there,
/// a tag or a box before it counts, as in a completion that was cut while thinking. Takes linear time.
Finding find_answer(std::string_view text, const std::vector<AnswerPlace>& places);

/// For an explanation: the answer as it was found, or why there is none.
std::string describe_finding(const Finding& found);

/// The answer of a gold column: the tag, box or #### of a worked solution, or what a sentence with a number
/// says, or else the whole text. Empty where such a sentence states no value.
std::string find_gold_answer(std::string_view column);

}  // namespace cohort::answers
