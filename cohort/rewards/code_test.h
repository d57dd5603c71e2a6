// The tests of a row: what goes into the sandbox, and what our side compares with what comes out.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cohort/core/json.h"
#include "cohort/rewards/typed_value.h"

namespace cohort {

struct CodeTest {
  enum class Kind { kOutput, kValue, kTruthy, kFalsy };

  Kind kind = Kind::kOutput;
  std::string input{};  ///< kOutput: standard input
  std::string expected_output{};
  std::string call{};        ///< else: the JSON that the call driver reads; it holds nothing that is expected
  TypedValue expected{};     ///< kValue
  bool is_identity = false;  ///< kValue: `is`, so that 1 is not True
  std::optional<Tolerance> tolerance{};
  std::string setup{};       ///< Python code that runs after the program; it holds nothing that is expected
  bool has_imports = false;  ///< the program gets the imports that judges of class Solution put before it
  bool may_be_wrapped = false;  ///< kValue: `expected` is a list around the value, or the value
};

/// The first of the columns `tests`, `test_list`, `input_output` and `test` that is not null; null without
/// one.
const Json* find_code_tests(const Json& fields);

/// Reads the tests of a row, in one of the forms of docs/sandbox.md, from find_code_tests: JSON, or a text
/// that holds JSON (and keeps integers of any size) or Python's asserts. Throws FormatError naming the test
/// that can't be read, or the forms.
std::vector<CodeTest> read_code_tests(const Json& fields);

/// Empty when the output is as expected, else what is wrong with it. Blanks at the ends of lines and of the
/// whole are ignored. Where the test has a tolerance, words that are numbers may differ by it; else numbers
/// with a decimal point may differ by `float_tolerance`.
std::string find_output_fault(const CodeTest& test, const std::string& output,
                              const Tolerance& float_tolerance);

/// The same for what the call driver wrote.
std::string find_value_fault(const CodeTest& test, const std::string& result,
                             const Tolerance& float_tolerance);

}  // namespace cohort
