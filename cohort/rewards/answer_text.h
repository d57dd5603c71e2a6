// Finding answers in the text of a completion.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cohort/core/json.h"

namespace cohort {

/// What stands between the last </answer> and the <answer> before it; nothing where there is no such pair.
std::optional<std::string_view> last_answer(std::string_view text);

/// What the braces of the last \boxed{} hold; nothing where there is none or its braces don't close.
std::optional<std::string_view> last_boxed(std::string_view text);

struct StatedAnswer {
  std::string_view text;   ///< without white space around
  bool is_marked = false;  ///< by tags or a box
};

/// What a completion states as its answer: of the text behind the last </think>, the inside of its last
/// <answer>, or of its last \boxed{}, or else all of it.
StatedAnswer stated_answer(std::string_view text);

/// The column's text; a number as JSON writes it. Nothing where it is missing or something else.
std::optional<std::string> column_text(const Json& fields, const std::string& column);

/// `text` without the white space around it.
std::string_view trim(std::string_view text);

/// The first 60 bytes of `text` for a message: in quotes, ASCII, control characters escaped.
std::string excerpt(std::string_view text);

}  // namespace cohort
