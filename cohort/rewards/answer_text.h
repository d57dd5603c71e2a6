// Finding answers in the text of a completion.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cohort {

/// What stands between the last </answer> and the <answer> before it; nothing where there is no such pair.
std::optional<std::string_view> last_answer(std::string_view text);

/// `text` without the white space around it.
std::string_view trim(std::string_view text);

/// The first 60 bytes of `text` for a message: in quotes, ASCII, control characters escaped.
std::string excerpt(std::string_view text);

}  // namespace cohort
