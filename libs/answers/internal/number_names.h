// Integers in words.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace cohort::answers {

/// "eighteen", "forty-two", "one hundred and five": below a billion, in small letters. Nothing for others.
std::optional<int64_t> read_number_name(std::string_view words);

}  // namespace cohort::answers
