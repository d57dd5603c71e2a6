// Data sets of the user's: JSONL with a string `prompt` and any further columns, which reach the rewards.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "cohort/rl/types.h"

namespace cohort {

using Tokenize = std::function<std::vector<int32_t>(const std::string&)>;

/// Reads every row as a Prompt: id "FILE:LINE", text, token ids and the other columns as fields; blank lines
/// are skipped. Throws FormatError naming the line whose `prompt` is missing, no string, or has no tokens,
/// and for a file without rows.
std::vector<Prompt> read_prompts(const std::filesystem::path& path, const Tokenize& tokenize);

}  // namespace cohort
