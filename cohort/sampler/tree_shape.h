// The shape of a tree of completions.
#pragma once

#include <cstdint>

namespace cohort {

struct TreeShape {
  int64_t depth = 0;           ///< segments of a longest completion; 0: no tree
  int64_t branches = 2;        ///< completions that one becomes at the end of a segment
  int64_t first_branches = 8;  ///< completions that begin at the prompt, at most; at least `branches`

  /// Tokens of a segment of completions of at most `max_completion_length` tokens.
  int64_t segment_length(int64_t max_completion_length) const {
    return (max_completion_length + depth - 1) / depth;
  }
};

}  // namespace cohort
