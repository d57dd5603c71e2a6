// Calls that are bare JSON in the text, with no mark around them.
#pragma once

#include <optional>
#include <string_view>

namespace cohort {

/// Whether the text begins as {"name" ... and has "arguments" or "parameters".
bool begins_as_call(std::string_view text);

/// The place of the first such text; nothing if there is none.
std::optional<size_t> find_bare_call(std::string_view text);

/// Removes the JSON object or list at the front of `text` and returns it; nothing if it does not end.
std::optional<std::string_view> take_json(std::string_view& text);

}  // namespace cohort
