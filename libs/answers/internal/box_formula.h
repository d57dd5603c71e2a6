// The expression that a box is a part of.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libs/answers/internal/box_tokens.h"

namespace cohort::answers {

/// The formulas between delimiters in the text, in order. Takes linear time.
std::vector<Span> find_formulas(std::string_view text);

struct BoxFormula {
  std::optional<std::string> text;  ///< the box's inside with all that touches it; nothing where that is cut
  size_t begin = 0, end = 0;        ///< of what was taken, in the text
  std::string_view next_words;      ///< of \text{} right behind it in the same formula
};

/// What a box says that stands at `box` and has this inside: the inside, or the expression around it, as in
/// 2\boxed{3}, \frac{1}{\boxed{3}} and x \le \boxed{5}. Signs before = and units do not count. `formula` is
/// the one that the box stands in, without its delimiters, if any.
BoxFormula read_box(std::string_view text, Span box, std::string_view inside, std::optional<Span> formula);

}  // namespace cohort::answers
