// The tool `calculator`: the value of an arithmetic expression.
#pragma once

#include "cohort/env/tool.h"

namespace cohort {

/// Its argument `expression` has integers, + - * / and parentheses. The result is exact: an integer, or a
/// fraction such as 7/3.
std::unique_ptr<Tool> make_calculator();

}  // namespace cohort
