// A piece of a text, counted in code points.
#pragma once

#include <cstdint>

namespace cohort {

/// Code points of a text, the end exclusive.
struct CodePointSpan {
  int64_t begin;
  int64_t end;
  bool operator==(const CodePointSpan&) const = default;
};

}  // namespace cohort
