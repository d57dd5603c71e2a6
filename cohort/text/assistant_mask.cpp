#include "cohort/text/assistant_mask.h"

#include <algorithm>
#include <optional>

namespace cohort {
namespace {

using Offsets = std::span<const CodePointSpan>;

/// The first token that holds the code point. Offsets never go back, so the search is by halves.
std::optional<size_t> token_of(Offsets offsets, int64_t code_point) {
  const auto ends_behind = [&](const CodePointSpan& offset) { return offset.end <= code_point; };
  const auto it = std::partition_point(offsets.begin(), offsets.end(), ends_behind);
  if (it == offsets.end() || it->begin > code_point) return std::nullopt;
  return it - offsets.begin();
}

}  // namespace

std::vector<int8_t> assistant_mask(Offsets offsets, std::span<const CodePointSpan> spans) {
  std::vector<int8_t> mask(offsets.size(), 0);
  for (const CodePointSpan& span : spans) {
    const std::optional<size_t> first = token_of(offsets, span.begin);
    if (!first) break;
    const size_t last = token_of(offsets, span.end - 1).value_or(0);
    const size_t end = last == 0 ? offsets.size() : last + 1;
    if (*first < end) std::fill(mask.begin() + *first, mask.begin() + end, 1);
  }
  return mask;
}

}  // namespace cohort
