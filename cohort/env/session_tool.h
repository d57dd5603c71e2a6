// The tools `code_interpreter` and `bash`: a program in the sandbox for each episode that calls them.
#pragma once

#include <memory>

#include "cohort/env/tool.h"

namespace cohort {

struct ToolConfig;

/// Seconds for one call of a tool that may hang.
constexpr double kDefaultToolTimeoutS = 10.0;

/// `python(code)` keeps its variables, `bash(command)` its working directory and variables, and both their
/// files, from one call of an episode to the next. A result is what was printed; for Python with the value of
/// the last expression or a traceback, for bash with an exit status other than 0. A call that exceeds a limit
/// is an error that the policy reads, and the next call begins a new session. Starts the sandbox. Throws
/// ConfigError if it does not hold or the program does not start in it.
std::unique_ptr<Tool> make_session_tool(const ToolConfig& config);

/// The first and the last of more than `max_length` characters, with a line between them that says how many
/// are left out. `bytes` that are not UTF-8 become U+FFFD.
std::string shortened_output(std::string bytes, int64_t max_length);

}  // namespace cohort
