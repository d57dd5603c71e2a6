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
};

/// Reads column `tests`: a list, or a text that holds one (and keeps integers of any size), of {"stdin",
/// "stdout"}, {"call", "args", "kwargs"?, "expected", "tolerance"?} and asserts. Throws FormatError naming
/// the test that can't be read.
std::vector<CodeTest> read_code_tests(const Json& fields);

/// Empty when the output is as expected, else what is wrong with it. Blanks at the ends of lines and of the
/// whole are ignored; with a tolerance, words that are numbers may differ by it.
std::string find_output_fault(const CodeTest& test, const std::string& output);

/// The same for what the call driver wrote.
std::string find_value_fault(const CodeTest& test, const std::string& result);

}  // namespace cohort
