// A completion without its mark-up.
#pragma once

#include <string>
#include <string_view>

namespace cohort::choice {

/// A formula's operator, and a command of LaTeX that is no text.
constexpr char32_t kOperator = U'\u2261';

constexpr char32_t kArrow = U'\u2192';

/// The code points of `text` (ill-formed UTF-8 replaced) without emphasis, dollar signs, tags and LaTeX's
/// text commands, with the brackets, quotes, dashes and full-width forms of all scripts as those of ASCII.
/// Arrows become kArrow, operators kOperator.
std::u32string plain_text(std::string_view text);

}  // namespace cohort::choice
