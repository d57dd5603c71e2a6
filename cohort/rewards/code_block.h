// Fenced code blocks of Markdown.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

/// The text of the last fenced block whose info string begins with one of `tags` (in lower case); where none
/// does, the last block that names no language. A fence that is never closed reaches to the end. Nothing
/// without a block.
std::optional<std::string> last_code_block(std::string_view text, const std::vector<std::string>& tags);

}  // namespace cohort
