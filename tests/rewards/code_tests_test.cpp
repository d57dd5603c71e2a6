// What the code reward reads before anything runs: fenced blocks, Python literals, asserts, values, outputs.
#include <gtest/gtest.h>

#include <cmath>

#include "cohort/core/error.h"
#include "cohort/rewards/assert_test.h"
#include "cohort/rewards/code_block.h"
#include "cohort/rewards/code_test.h"
#include "cohort/rewards/python_literal.h"
#include "tests/core/test_files.h"

namespace cohort {
namespace {

std::string block(const std::string& text) {
  return last_code_block(text, {"python", "py"}).value_or("none");
}

TEST(CodeBlock, TakesTheLastOfTheLanguage) {
  EXPECT_EQ(block("```python\na\n```\ntext\n```python\nb\n```\nend"), "b\n");
  EXPECT_EQ(block("```python\na\n```\n```bash\nb\n```"), "a\n");
  EXPECT_EQ(block("```Python3\na\n```\n```\nb\n```"), "b\n");
  EXPECT_EQ(block("```py\na\n```\n```\nb\n```"), "a\n");
  EXPECT_EQ(block("~~~ {.python}\na\n~~~"), "a\n");
  EXPECT_EQ(block("no code"), "none");
  EXPECT_EQ(block("```bash\nb\n```"), "none");
}

TEST(CodeBlock, ReadsFencesAsMarkdownDoes) {
  EXPECT_EQ(block("````python\n```\ninner\n```\n````"), "```\ninner\n```\n");
  EXPECT_EQ(block("1. do:\n   ```python\n   if x:\n     y\n   ```\n"), "if x:\n  y\n");
  EXPECT_EQ(block("```python\nnever closed"), "never closed\n");
  EXPECT_EQ(block("```python\r\na\r\n```\r\n"), "a\n");
  EXPECT_EQ(block("``` `inline` ```\n"), "none");
  EXPECT_EQ(block("```python\n```"), "");
  EXPECT_EQ(block(std::string(100000, '`')), "");
}

std::string literal(const std::string& text) {
  const std::optional<TypedValue> value = parse_python_literal(text);
  return value ? describe(*value) : "none";
}

TEST(PythonLiteral, ReadsValues) {
  EXPECT_EQ(literal("None"), "None");
  EXPECT_EQ(literal(" -1_000 "), "-1000");
  EXPECT_EQ(literal("0xFF"), "255");
  EXPECT_EQ(literal("0b101"), "5");
  EXPECT_EQ(literal("123456789012345678901234567890"), "123456789012345678901234567890");
  EXPECT_EQ(literal("2.5e-1"), "0.25");
  EXPECT_EQ(literal(".5"), "0.5");
  EXPECT_EQ(literal("5."), "5");
  EXPECT_EQ(literal("float('-inf')"), "-inf");
  EXPECT_EQ(literal("[1, 'a', (2,), {3: None}, {4}, [], {}, (), set(),]"),
            "[1, \"a\", (2), {3: None}, {4}, [], {}, (), {}]");
  EXPECT_EQ(literal("1, 2"), "(1, 2)");
  EXPECT_EQ(literal("(1)"), "1");
  EXPECT_EQ(literal("frozenset({1, 2})"), "{1, 2}");
}

TEST(PythonLiteral, ReadsStrings) {
  EXPECT_EQ(parse_python_literal("'a' \"b\" '''c\nd'''")->text, "abc\nd");
  EXPECT_EQ(parse_python_literal(R"('\n\x41\u00e9\101\'\\')")->text,
            "\nA\xc3\xa9"
            "A'\\");
  EXPECT_EQ(parse_python_literal(R"(r'\n')")->text, "\\n");
  EXPECT_EQ(parse_python_literal(R"(b'\xff\0')")->text, "ff00");
  EXPECT_EQ(parse_python_literal("'\xc3\xa9'")->text, "\xc3\xa9");
}

TEST(PythonLiteral, RefusesAllElse) {
  for (const char* text : {"",          "x",         "f(1)",      "1 + 2",  "[1",  "1]", "'a",    "f'a'",
                           "{1: 2, 3}", "{1, 2: 3}", "[1 2]",     "01",     "1__", "0x", "True1", "--",
                           "[*x]",      "{1, 1.0}",  "'\\ud800'", "'\\x4'", "3j",  "1e", "(,)"}) {
    EXPECT_EQ(literal(text), "none") << text;
  }
  EXPECT_EQ(literal(std::string(100000, '[')), "none");
}

std::string expression(const std::string& text) {
  return convert_assert(text).call.at("expression").get<std::string>();
}

TEST(AssertTest, SplitsCallAndExpectation) {
  EXPECT_EQ(expression("assert f(1, \"a == b\") == [2, 3]"), "f(1, \"a == b\")");
  EXPECT_EQ(describe(convert_assert("assert f(1) == [2, 3]").expected), "[2, 3]");
  EXPECT_EQ(expression("assert(f(1) == 2)"), "f(1)");
  EXPECT_EQ(expression("assert 2 == f(1), 'why, \"oh\"'"), "f(1)");
  EXPECT_EQ(expression("assert Solution().f([1]) == 2  # why"), "Solution().f([1])");
  EXPECT_EQ(expression("assert f(1)[0] == 2"), "f(1)[0]");
  EXPECT_EQ(expression("assert f(\n  1,\n  2) == 3"), "f(\n  1,\n  2)");
  EXPECT_EQ(expression("assert set(f(1)) == {1, 2}"), "set(f(1))");
  EXPECT_EQ(describe(convert_assert("assert f(1) == (1, 2)").expected), "(1, 2)");
  EXPECT_TRUE(convert_assert("assert f(1) is True").is_identity);
  EXPECT_EQ(convert_assert("assert f(1)").kind, CodeTest::Kind::kTruthy);
  EXPECT_EQ(convert_assert("assert not f(1)").kind, CodeTest::Kind::kFalsy);
}

TEST(AssertTest, ReadsTolerances) {
  for (const char* text :
       {"assert abs(f(1) - 2.5) < 1e-3", "assert abs(2.5 - f(1)) <= 1e-3",
        "assert math.isclose(f(1), 2.5, rel_tol=1e-3)", "assert abs(f(1)-2.5) < 0.001, 'far'"}) {
    const CodeTest test = convert_assert(text);
    EXPECT_EQ(test.call.at("expression"), "f(1)") << text;
    EXPECT_EQ(test.expected.number, 2.5) << text;
    EXPECT_EQ(test.tolerance, 1e-3) << text;
  }
  EXPECT_EQ(expression("assert abs(f(2 - 1) - -2.5) < 1e-3"), "f(2 - 1)");
}

// The outcome of these would be decided, or shown, inside the sandbox.
TEST(AssertTest, RefusesWhatItCannotSplit) {
  for (const char* text : {"assert f(1) == g(2)",
                           "assert f(1) < 2",
                           "assert f(1) != 2",
                           "assert f(1) == 2 and f(2) == 3",
                           "assert x == 2",
                           "assert isinstance(f(1), int)",
                           "assert all(f(i) for i in range(3))",
                           "assert f(1) in (1, 2)",
                           "assert len(f(1))",
                           "assert",
                           "f(1) == 2",
                           "assert f(1) == 2; print(1)",
                           "assert f(1) == 2\nassert f(2) == 3",
                           "assert (f(1)",
                           "assert f(1) == 'a",
                           "assert f(1) is not None",
                           "assert math.isnan(f(1))",
                           "assert not f(1) == 2",
                           "assert 1 == 1",
                           "assertf(1) == 2",
                           "assert f(1) == 2 == 2",
                           "assert (y := f(1)) == 2",
                           "assert f(1)]"}) {
    EXPECT_THROW(convert_assert(text), FormatError) << text;
  }
}

TypedValue value(const std::string& text) { return *parse_python_literal(text); }

bool equal(const std::string& left, const std::string& right, double tolerance = kDefaultTolerance) {
  return is_equal(value(left), value(right), tolerance);
}

TEST(TypedValue, ComparesAsPythonDoes) {
  EXPECT_TRUE(equal("1", "1.0"));
  EXPECT_TRUE(equal("True", "1"));
  EXPECT_TRUE(equal("{1, 2.0}", "{2, True}"));
  EXPECT_TRUE(equal("{'a': 1, 'b': [2.0]}", "{'b': [2], 'a': 1}"));
  EXPECT_FALSE(equal("[1]", "(1,)"));
  EXPECT_FALSE(equal("'1'", "1"));
  EXPECT_FALSE(equal("'a'", "b'\\x0a'"));
  EXPECT_FALSE(equal("{1: 2}", "{1, 2}"));
  EXPECT_FALSE(equal("None", "False"));
  EXPECT_FALSE(equal("[1, 2]", "[1]"));
  EXPECT_FALSE(equal("{'a': 1}", "{'a': 1, 'b': 2}"));
  EXPECT_FALSE(equal("100000000000000000001", "100000000000000000002"));
  EXPECT_TRUE(is_equal(from_json({1, 2}), value("(1, 2)"), 0.0));
  EXPECT_TRUE(is_equal(from_json({1, 2}), value("[1, 2]"), 0.0));
  EXPECT_FALSE(is_equal(from_json({1, 2}), value("{1, 2}"), 0.0));
}

TEST(TypedValue, ComparesFloatsWithinTheTolerance) {
  EXPECT_TRUE(equal("0.3", "0.30000000000000004"));
  EXPECT_FALSE(equal("0.3", "0.3001"));
  EXPECT_TRUE(equal("0.3", "0.3001", 1e-3));
  EXPECT_TRUE(equal("1e20", "1.0000000001e20"));
  EXPECT_TRUE(equal("float('nan')", "float('nan')"));
  EXPECT_FALSE(equal("float('nan')", "1.0"));
  EXPECT_TRUE(equal("float('inf')", "float('inf')"));
  EXPECT_FALSE(equal("float('inf')", "1e308"));
  EXPECT_FALSE(equal("float('inf')", "float('-inf')"));
}

TEST(TypedValue, ReadsWhatTheDriverWritesAndNothingElse) {
  const std::optional<TypedValue> read = read_typed_value(
      R"({"d":[{"s":"a"},{"l":[{"i":"1"},{"f":"0x1.8p+1"},{"t":[]},{"S":[true]},{"b":"ff"},null]}]})");
  ASSERT_TRUE(read);
  EXPECT_TRUE(is_equal(value("{'a': [1, 3.0, (), {True}, b'\\xff', None]}"), *read, 0.0));
  for (const char* text :
       {"", "1", "\"a\"", "[]", "{}", R"({"i":"x"})", R"({"i":1})", R"({"d":[{"i":"1"}]})", R"({"l":1})",
        R"({"i":"1","f":"2"})", R"({"x":[]})", R"({"l":[1]})", R"({"i":"1"} x)", R"({"c":"1"})"}) {
    EXPECT_FALSE(read_typed_value(text)) << text;
  }
  EXPECT_FALSE(is_equal(value("'Odd'"), *read_typed_value(R"({"?":"Odd"})"), 0.0));
}

TEST(CodeTests, CompareOutputs) {
  CodeTest test;
  test.expected_output = "a  b\nc\n";
  for (const char* same : {"a  b\nc", "a  b \t\nc\n\n\n", "a  b\r\nc\r\n"})
    EXPECT_EQ(find_output_fault(test, same), "") << same;
  for (const char* other : {"a b\nc", "a  b\n\nc", "a  b", "", " a  b\nc", "a  b\nc\nd"})
    EXPECT_NE(find_output_fault(test, other), "") << other;
  test.expected_output = "sum 0.5 x";
  EXPECT_NE(find_output_fault(test, "sum 0.5001 x"), "");
  test.tolerance = 1e-3;
  EXPECT_EQ(find_output_fault(test, "sum  0.5001 x"), "");
  EXPECT_NE(find_output_fault(test, "sum 0.5001 y"), "");
  EXPECT_NE(find_output_fault(test, "sum 0.5001"), "");
  test.expected_output = "";
  EXPECT_EQ(find_output_fault(test, " \n\n"), "");
}

TEST(CodeTests, NoCallHoldsWhatIsExpected) {
  const Json fields = {{"tests",
                        {{{"call", "f"}, {"args", {1}}, {"expected", "needle"}},
                         "assert f(2) == 'needle'",
                         "assert abs(f(3) - 47.11) < 1e-3",
                         "assert math.isclose(f(4), 47.11)"}}};
  for (const CodeTest& test : read_code_tests(fields)) {
    EXPECT_EQ(test.call.dump().find("needle"), std::string::npos);
    EXPECT_EQ(test.call.dump().find("47.11"), std::string::npos);
  }
}

TEST(CodeTests, ColumnMayBeText) {
  EXPECT_EQ(read_code_tests({{"tests", R"(["assert f(1) == 2", {"stdin": "", "stdout": "x"}])"}}).size(), 2U);
}

}  // namespace
}  // namespace cohort
