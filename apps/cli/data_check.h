// cohort data check: what a file of rows holds, before it is trained on.
#pragma once

#include "apps/cli/command.h"

namespace cohort::cli {

/// Prints a report; returns 2 where rows can't be used.
int data_check(const Command& data_command, const Arguments& arguments);

}  // namespace cohort::cli
