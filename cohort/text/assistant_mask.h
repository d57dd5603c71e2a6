// Which tokens of a rendered conversation the assistant wrote.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cohort/text/code_point_span.h"

namespace cohort {

/// [tokens] 1 for tokens of the spans, else 0. `offsets`: code points [start, end) of each token in the
/// rendered text. As transformers has it: a span goes from the token of its first code point to that of its
/// last, to the end where no token (or the very first) holds the last, and one whose first has no token ends
/// the search.
std::vector<int8_t> assistant_mask(std::span<const CodePointSpan> offsets,
                                   std::span<const CodePointSpan> spans);

}  // namespace cohort
