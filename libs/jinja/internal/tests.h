// Jinja's tests: what stands behind `is`.
#pragma once

#include <string_view>

#include "libs/jinja/internal/ast.h"

namespace cohort::jinja {

/// Null when there is none of that name.
Test find_test(std::string_view name);

}  // namespace cohort::jinja
