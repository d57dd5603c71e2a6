// A value in prose is read whole or not at all: what may touch it, and what would belong to it.
#pragma once

#include <cstddef>
#include <string_view>

namespace cohort::answers {

/// Do the characters around text[begin, end) leave it alone, so that it is no part of a larger value? Marks,
/// words and spaces do. Raised letters, unknown signs of mathematics and a mark between two digits do not.
bool stands_alone(std::string_view text, size_t begin, size_t end);

}  // namespace cohort::answers
