// The tools of type `http`: calls go to a server of the user's.
#pragma once

#include <memory>
#include <vector>

#include "cohort/env/tool.h"

namespace cohort {

struct ToolConfig;

/// Each call is a POST of {"name", "arguments", "episode"} to the server, which answers {"content": text}, or
/// {"error": text} for the policy to read. Any other answer, a status that is not 200 to 299 and no answer in
/// time fail the episode. The schemas come from the recipe, or from a GET of url/describe. Throws ConfigError
/// if there is none.
std::vector<std::unique_ptr<Tool>> make_http_tools(const ToolConfig& config);

}  // namespace cohort
