// The answer that a sentence states.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cohort/rewards/math/prose.h"

namespace cohort::math {

struct Finding {
  std::optional<std::string> text;
  std::string refusal{};  ///< why what stands there is no answer; empty where nothing stands there
  std::vector<std::string> others{};  ///< further readings of the same text, such as 3.5 of 3,5

  bool is_nothing() const { return !text && refusal.empty(); }
  /// All of them, the first one first.
  std::vector<std::string> readings() const;
};

/// The answer of a sentence that follows "the answer is": a value, or values joined by commas, "and" and
/// "or", which are a list. What else stands there must be words known to change nothing; any other value is
/// refused.
Finding read_stated(const Sentence& sentence);

/// The last value, or list, of a sentence that may say anything. With `is_formula` it must be a formula, or
/// what a formula is said to be.
Finding read_concluding(const Sentence& sentence, bool is_formula);

}  // namespace cohort::math
