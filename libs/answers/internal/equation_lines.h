// Several names with their values, a line each.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cohort::answers {

/// The lines at the beginning of `text`, or at its end, that say what different names are: "x = 5\ny = 6" as
/// the list "x = 5, y = 6". Nothing for fewer than two, or where one builds on another: "a = 2\nb = a + 1".
std::optional<std::string> leading_equations(std::string_view text);
std::optional<std::string> trailing_equations(std::string_view text);

/// `line` without the sign of a list in front: "- x = 5".
std::string_view without_bullet(std::string_view line);

}  // namespace cohort::answers
