// Commands that the Python package `cohort` does, for this program's command line.
#pragma once

#include "apps/cli/command.h"

namespace cohort::cli {

/// Becomes `python3 -m cohort ARGUMENTS`, with the first python3 of PATH. Throws ConfigError where there is
/// none; a Python without the package prints one line and ends with exit code 2.
[[noreturn]] void run_python_package(const Arguments& arguments);

/// A command that the package does as a whole: prints its --help, or becomes `python3 -m cohort NAME
/// ARGUMENTS`.
int run_command_in_python(const Command& self, const Arguments& arguments);

}  // namespace cohort::cli
