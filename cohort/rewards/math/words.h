// Answers in words: yes, Tuesday, (B).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cohort::math {

/// The words of an answer, in lower case and without fonts, quotes and a final full stop; nothing for
/// mathematics.
std::optional<std::string> find_words(std::string_view text);

/// The letter of a choice such as (B), B. or \textbf{(B)}; nothing for other answers.
std::optional<char> find_choice(std::string_view text);

}  // namespace cohort::math
