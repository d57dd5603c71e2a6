// Tests as Python text: asserts, alone or in a function check(candidate), as MBPP and HumanEval have them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cohort/rewards/code_test.h"

namespace cohort {

/// One test for each assert of `text`. Beside asserts it may hold imports and assignments of literals, which
/// become each test's setup, `def check(candidate):` over asserts, and `check(NAME)`. Without that call the
/// candidate is `entry_point`. Throws FormatError for every other statement.
std::vector<CodeTest> read_python_tests(std::string_view text, const std::string& entry_point);

}  // namespace cohort
