// The tool `retrieval`: a full-text search in a folder of texts.
#pragma once

#include <memory>

#include "cohort/env/tool.h"

namespace cohort {

struct ToolConfig;

/// `search(query, top_k)` gives the passages that fit best as a JSON list of {"title", "passage"}. Reads the
/// folder and indexes it. Throws ConfigError for a folder that is missing or has no text, and FormatError for
/// a file that cannot be read.
std::unique_ptr<Tool> make_retrieval_tool(const ToolConfig& config);

}  // namespace cohort
