// Small searches of the lexer.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace cohort::answers {

/// Where the brace closes that `text` begins with; nothing where it does not.
std::optional<size_t> closing_brace(std::string_view text);

/// How many dollars without a backslash stand in the text.
size_t count_dollars(std::string_view text);

/// The length of a thousands separator at the start of the text: always where it is spelled as one, a bare
/// comma only outside brackets.
size_t thousands_separator_length(std::string_view text, bool is_in_brackets);

}  // namespace cohort::answers
