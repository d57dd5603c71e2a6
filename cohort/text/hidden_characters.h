// Characters that nobody sees: a way to hide instructions, or the mark of an answer, in a data set.
#pragma once

#include <optional>

#include "cohort/core/json.h"

namespace cohort {

/// The first character in the texts and keys of `value` that is_hidden_character(); see visible_text.h.
std::optional<char32_t> find_hidden_character(const Json& value);

}  // namespace cohort
