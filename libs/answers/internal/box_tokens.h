// The signs around a box, as far as they tell whether they belong to its answer.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace cohort::answers {

struct Span {
  size_t begin = 0, end = 0;
};

struct BoxToken {
  enum class Kind : uint8_t {
    kBox,
    kOperand,   ///< belongs to what it touches: 2, x, \frac{1}{2}
    kOperator,  ///< joins what stands beside it, over spaces too
    kStop,      ///< ends an expression: =, a comma, words
    kOpen,      ///< of a group that the box is in
    kClose,
  };
  Kind kind = Kind::kStop;
  size_t begin = 0, end = 0;    ///< bytes
  bool has_space = false;       ///< before it
  bool changes_value = false;   ///< an opening that makes another value of its group: \sqrt{
  std::string_view words = {};  ///< inside a \text{} that ends an expression
};

/// The tokens of `region` of the text, which holds `box`. In prose words and line breaks end expressions.
std::vector<BoxToken> read_box_tokens(std::string_view text, Span region, Span box, bool is_formula);

}  // namespace cohort::answers
