// How deep JSON text nests, before it is parsed: deeper text than a bound would overflow the stack of code
// that walks values recursively.
#pragma once

#include <cstddef>
#include <string_view>

namespace cohort {

/// The offset of the bracket that opens level `max_depth` + 1, or npos. The text need not be well-formed.
size_t json_too_deep_at(std::string_view text, int max_depth);

}  // namespace cohort
