// Finding answers in the text of a completion.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cohort/core/json.h"

namespace cohort {

/// What stands between the last </answer> and the <answer> before it; nothing where there is no such pair.
std::optional<std::string_view> last_answer(std::string_view text);

struct Box {
  std::optional<std::string_view> inside;  ///< nothing where there is no box, or it is open
  bool is_open = false;                    ///< its braces don't close: the text was cut
};

/// The last \boxed{...} or \fbox{...}, also without braces as in \boxed 5. Braces behind a backslash are
/// text.
Box last_box(std::string_view text);

/// What follows the last </think>, or all of the text.
std::string_view behind_thinking(std::string_view text);

struct StatedAnswer {
  std::string_view text;   ///< without white space around
  bool is_marked = false;  ///< by tags or a box
};

/// What a completion states as its answer: of the text behind the last </think>, the inside of its last
/// <answer>, or of its last box, or else all of it. Where that box is open, the answer is marked and empty.
StatedAnswer stated_answer(std::string_view text);

/// The column's text; a number as JSON writes it. Nothing where it is missing or something else.
std::optional<std::string> column_text(const Json& fields, const std::string& column);

/// `text` without the white space around it.
std::string_view trim(std::string_view text);

/// The first bytes of `text` for a message: in quotes, ASCII, control characters escaped.
std::string excerpt(std::string_view text, size_t max_bytes = 60);

/// The same for an explanation, which has room for more.
std::string shown(std::string_view text);

}  // namespace cohort
