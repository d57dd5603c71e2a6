// Characters that nobody sees: a way to hide instructions, or the mark of an answer, in a data set.
#pragma once

#include <optional>

#include "cohort/core/json.h"

namespace cohort {

/// Whether find_hidden_character() would find this code point.
bool is_hidden_character(char32_t code_point);

/// The first character in the texts and keys of `value` that is a control character other than tab, line feed
/// and carriage return, an invisible format character such as U+200B or U+202E, or a tag of plane 14. The
/// joiners U+200C and U+200D, which scripts and emoji need, do not count.
std::optional<char32_t> find_hidden_character(const Json& value);

}  // namespace cohort
