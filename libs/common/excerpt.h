// Texts of any kind, cut and escaped for a message.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cohort {

/// The first bytes of `text` for a message: in quotes, ASCII, control characters escaped.
std::string excerpt(std::string_view text, size_t max_bytes = 60);

/// The same for an explanation, which has room for more.
std::string shown(std::string_view text);

}  // namespace cohort
