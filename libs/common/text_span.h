// Where a search cuts a text.
#pragma once

#include <cstddef>

namespace cohort {

/// A piece of a text, in bytes; `is_match` tells a match from what lies between matches.
struct TextSpan {
  size_t begin;
  size_t end;
  bool is_match;
};

}  // namespace cohort
