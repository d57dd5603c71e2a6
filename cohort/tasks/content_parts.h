// Messages whose content is a list of parts, as in OpenAI's format: {"type": "text", "text": ...}.
#pragma once

#include <optional>
#include <string>

#include "cohort/core/json.h"

namespace cohort {

/// The first part of `content` that is not text, such as "a part of type \"image\""; nothing if all are.
std::optional<std::string> find_other_part(const Json& content);

/// The messages with the text parts of each content joined by newlines, as vLLM does for templates that take
/// strings. Throws UserError for a part without a text.
Json with_joined_parts(const Json& messages);

}  // namespace cohort
