// Errors as the APIs write them.
#pragma once

#include <string>

#include "cohort/core/json.h"

namespace cohort {

/// An error with this HTTP status as the API of `path` has it: Anthropic's for /v1/messages, else OpenAI's.
/// `param`: the field at fault; empty if there is none.
Json error_json(const std::string& path, const std::string& message, int status,
                const std::string& param = {});

}  // namespace cohort
