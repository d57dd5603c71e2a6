// Rewrites spellings of the same before a text is split into tokens.
#pragma once

#include <string>
#include <string_view>

namespace cohort::answers {

/// The text with full-width signs, raised and lowered digits, spaced thousands, colours and blanks in plain
/// LaTeX. Linear in the text.
std::string respell(std::string_view text);

}  // namespace cohort::answers
