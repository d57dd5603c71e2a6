// What writing leaves around an answer.
#pragma once

#include <string>
#include <string_view>

namespace cohort::answers {

/// `text` without emphasis, quotes and backticks around it, and without the comma, semicolon, colon, line
/// break or \text{.} behind it.
std::string tidy(std::string_view text);

}  // namespace cohort::answers
