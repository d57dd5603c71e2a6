// The marks by which a completion sets its answer apart: tags, boxes, the end of the thinking.
#pragma once

#include <optional>
#include <string_view>

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

}  // namespace cohort
