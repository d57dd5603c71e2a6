// Tests of a row in the forms of public data sets.
#pragma once

#include <string>
#include <vector>

#include "cohort/core/json.h"
#include "cohort/rewards/code_test.h"

namespace cohort {

/// What the columns beside the tests say of all of them.
struct TestContext {
  std::string function{};  ///< that is called; empty for programs that read standard input
  std::string setup{};     ///< Python code that runs after the program
};

/// The columns `fn_name`, `func_name`, `entry_point` or `metadata`, and `test_setup_code` and `test_imports`.
TestContext read_test_context(const Json& fields);

/// {"inputs": [...], "outputs": [...], "fn_name"?} of APPS, TACO and verl. Throws FormatError where the lists
/// differ in length or hold what is no test.
std::vector<CodeTest> read_parallel_tests(const Json& json, TestContext context);

/// {"input", "output", "testtype"?, "fn_name"?} of LiveCodeBench and others. Throws FormatError.
CodeTest read_pair_test(const Json& json, TestContext context);

/// Do the tests of this object stand in two lists: under "inputs" or "input"?
bool has_parallel_tests(const Json& json);

}  // namespace cohort
