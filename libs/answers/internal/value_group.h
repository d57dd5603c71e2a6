// Values that stand side by side in a sentence.
#pragma once

#include <string>
#include <vector>

#include "libs/answers/internal/prose.h"

namespace cohort::answers {

/// One value, or several that commas, "and" and "or" join.
struct ValueGroup {
  size_t begin = 0, end = 0;  ///< among the sentence's pieces; units behind it are inside
  size_t num_values = 0;
  std::string text;  ///< as one expression
  bool has_formula = false;
  bool is_cut = false;  ///< a value's neighbors may belong to it
};

/// The group whose first value is the piece at `begin`. Units behind values are taken, and with `takes_nouns`
/// words that no table knows: 5 apples.
ValueGroup take_group(const std::vector<Piece>& pieces, size_t begin, bool takes_nouns);

/// Do spaces alone, or nothing, part this piece from the next one?
bool are_side_by_side(const std::vector<Piece>& pieces, size_t left);

/// 2 to 3, 5 out of 6, 1 in 6; but "simplify 4/8 to 1/2" and "it falls from 8, to 6".
bool is_range(const std::vector<Piece>& pieces, const ValueGroup& left, const ValueGroup& right);

}  // namespace cohort::answers
