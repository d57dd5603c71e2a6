// What the code reward reads before anything runs: fenced blocks, Python literals, values, outputs.
#include <gtest/gtest.h>

#include <cmath>

#include "cohort/core/error.h"
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

TypedValue value(const std::string& text) { return *parse_python_literal(text); }

bool equal(const std::string& left, const std::string& right, const Tolerance& tolerance = {}) {
  return is_equal(value(left), value(right), tolerance);
}

TEST(TypedValue, ComparesAsPythonDoes) {
  EXPECT_TRUE(equal("1", "1.0"));
  EXPECT_TRUE(equal("True", "1"));
  EXPECT_TRUE(equal("{1, 2.0}", "{2, True}"));
  EXPECT_TRUE(equal("{1e16, 0}", "{10000000000000000, -0.0}"));
  EXPECT_FALSE(equal("{1e16}", "{10000000000000001}"));
  EXPECT_TRUE(equal("{'a': 1, 'b': [2.0]}", "{'b': [2], 'a': 1}"));
  EXPECT_FALSE(equal("[1]", "(1,)"));
  EXPECT_FALSE(equal("'1'", "1"));
  EXPECT_FALSE(equal("'a'", "b'\\x0a'"));
  EXPECT_FALSE(equal("{1: 2}", "{1, 2}"));
  EXPECT_FALSE(equal("None", "False"));
  EXPECT_FALSE(equal("[1, 2]", "[1]"));
  EXPECT_FALSE(equal("{'a': 1}", "{'a': 1, 'b': 2}"));
  EXPECT_FALSE(equal("100000000000000000001", "100000000000000000002"));
  EXPECT_TRUE(is_equal(from_json({1, 2}), value("(1, 2)"), Tolerance::none()));
  EXPECT_TRUE(is_equal(from_json({1, 2}), value("[1, 2]"), Tolerance::none()));
  EXPECT_FALSE(is_equal(from_json({1, 2}), value("{1, 2}"), Tolerance::none()));
}

TEST(TypedValue, ComparesFloatsWithinTheTolerance) {
  EXPECT_TRUE(equal("0.3", "0.30000000000000004"));
  EXPECT_FALSE(equal("0.3", "0.3001"));
  EXPECT_TRUE(equal("0.3", "0.3001", Tolerance::within(1e-3)));
  EXPECT_FALSE(equal("100.0", "180.0", Tolerance::within(1.0)));
  EXPECT_TRUE(equal("[10, {'a': 11}]", "[11, {'a': 10}]", Tolerance::within(1.0)));
  EXPECT_FALSE(equal("10", "12", Tolerance::within(1.0)));
  EXPECT_FALSE(equal("1e-12", "2e-9"));
  EXPECT_TRUE(equal("1e20", "1.0000000001e20"));
  EXPECT_TRUE(equal("float('nan')", "float('nan')"));
  EXPECT_FALSE(equal("float('nan')", "1.0"));
  EXPECT_TRUE(equal("float('inf')", "float('inf')"));
  EXPECT_FALSE(equal("float('inf')", "1e308"));
  EXPECT_FALSE(equal("float('inf')", "float('-inf')"));
}

// 1e20 is within 1e-9 of 10 ** 20 + 1, and another number.
TEST(TypedValue, AFloatStandsForTheIntegerThatItRoundsTo) {
  EXPECT_TRUE(equal("3", "3.0000000001"));
  EXPECT_TRUE(equal("0", "-1e-10"));
  EXPECT_TRUE(equal("5000000000", "5000000000.000001"));
  EXPECT_TRUE(equal("100000000000000000000", "1e20"));
  EXPECT_TRUE(equal("1e20", "100000000000000000001"));  // a float is expected
  EXPECT_FALSE(equal("100000000000000000001", "1e20"));
  EXPECT_FALSE(equal("100000000000000000001", "1e20", Tolerance::none()));
  EXPECT_FALSE(equal("5000000001", "5000000000.0"));
  EXPECT_FALSE(equal("3", "3.0001"));
  EXPECT_FALSE(equal("3", "float('nan')"));
  EXPECT_FALSE(equal("3", "float('inf')"));
  EXPECT_TRUE(equal("100000000000000000001", "1e20", Tolerance::within(10.0)));
}

TEST(TypedValue, ReadsWhatTheDriverWritesAndNothingElse) {
  const std::optional<TypedValue> read = read_typed_value(
      R"({"d":[{"s":"a"},{"l":[{"i":"1"},{"f":"0x1.8p+1"},{"t":[]},{"S":[true]},{"b":"ff"},null]}]})");
  ASSERT_TRUE(read);
  EXPECT_TRUE(is_equal(value("{'a': [1, 3.0, (), {True}, b'\\xff', None]}"), *read, Tolerance::none()));
  for (const char* text :
       {"", "1", "\"a\"", "[]", "{}", R"({"i":"x"})", R"({"i":1})", R"({"d":[{"i":"1"}]})", R"({"l":1})",
        R"({"i":"1","f":"2"})", R"({"x":[]})", R"({"l":[1]})", R"({"i":"1"} x)", R"({"c":"1"})"}) {
    EXPECT_FALSE(read_typed_value(text)) << text;
  }
  EXPECT_FALSE(is_equal(value("'Odd'"), *read_typed_value(R"({"?":"Odd"})"), Tolerance::none()));
}

std::string output_fault(const CodeTest& test, const std::string& output, double tolerance = 1e-6) {
  return find_output_fault(test, output, {tolerance, 0.0});
}

TEST(CodeTests, CompareOutputs) {
  CodeTest test;
  test.expected_output = "a  b\nc\n";
  for (const char* same : {"a  b\nc", "a  b \t\nc\n\n\n", "a  b\r\nc\r\n"})
    EXPECT_EQ(output_fault(test, same), "") << same;
  for (const char* other : {"a b\nc", "a  b\n\nc", "a  b", "", " a  b\nc", "a  b\nc\nd"})
    EXPECT_NE(output_fault(test, other), "") << other;
  test.expected_output = "sum 0.5 x";
  EXPECT_NE(output_fault(test, "sum 0.5001 x"), "");
  test.tolerance = Tolerance::within(1e-3);
  EXPECT_EQ(output_fault(test, "sum  0.5001 x"), "");
  EXPECT_NE(output_fault(test, "sum 0.5001 y"), "");
  EXPECT_NE(output_fault(test, "sum 0.5001"), "");
  test.expected_output = "100";
  EXPECT_NE(output_fault(test, "180"), "");
  EXPECT_EQ(output_fault(test, "100.0005"), "");
  EXPECT_NE(output_fault(test, std::string("100\0junk", 8)), "");
  test.expected_output = "";
  EXPECT_EQ(output_fault(test, " \n\n"), "");
}

// Numbers that are expected with a decimal point may be printed with other digits.
TEST(CodeTests, PrintedFloatsMayBeOfAnotherLength) {
  CodeTest test;
  const auto is_same = [&](const std::string& expected, const std::string& got, double tolerance = 1e-6) {
    test.expected_output = expected;
    return output_fault(test, got, tolerance).empty();
  };
  for (const auto& [expected, got] : std::vector<std::pair<const char*, const char*>>{
           {"0.142857142857\n", "0.14285714285714285"},
           {"2.50", "2.5"},
           {"7.0", "7"},
           {"-0.0", "0.0"},
           {"x = 0.1, y = [0.30000000000000004, 1e-07]", "x = 0.1, y = [0.3, 1.0000001e-07]"},
           {"1.5e+16", "15000000000000000.0"},
           {"3 0.5\n4 0.25", "3 0.5000001\n4 0.2500001"}}) {
    EXPECT_TRUE(is_same(expected, got)) << expected;
  }
  for (const auto& [expected, got] :
       std::vector<std::pair<const char*, const char*>>{{"0.14", "0.142857"},
                                                        {"0.5", "0.50001"},
                                                        {"7", "7.0"},
                                                        {"100000000000000001", "100000000000000000"},
                                                        {"1.2.3", "1.2.30"},
                                                        {"v1.20", "v1.2"},
                                                        {"0.5 x", "0.5  x"},
                                                        {"0.5", "0.5 0.5"},
                                                        {"0.5", "nan"},
                                                        {"0.5", "0.5x"},
                                                        {"0.5", ""},
                                                        {"1.0e", "1.00e"}}) {
    EXPECT_FALSE(is_same(expected, got)) << expected;
  }
  EXPECT_FALSE(is_same("2.50", "2.5000001", 0.0));
  EXPECT_TRUE(is_same("0.14", "0.142857", 0.01));
}

TEST(CodeTests, NoCallHoldsWhatIsExpected) {
  const Json fields = {{"tests",
                        {{{"call", "f"}, {"args", {1}}, {"expected", "needle"}},
                         "assert f(2) == 'needle'",
                         "assert abs(f(3) - 47.11) < 1e-3",
                         "assert math.isclose(f(4), 47.11)"}}};
  for (const CodeTest& test : read_code_tests(fields)) {
    EXPECT_EQ(test.call.find("needle"), std::string::npos);
    EXPECT_EQ(test.call.find("47.11"), std::string::npos);
  }
}

TEST(CodeTests, LongIntegersKeepTheirDigits) {
  const std::string row =
      R"({"tests": [{"call": "f", "args": [-100000000000000000001], "expected": [1e300, 18446744073709551616]}]})";
  const CodeTest kept = read_code_tests(parse_json_line(row, "rows.jsonl", 1)).at(0);
  EXPECT_EQ(kept.call, R"({"call":"f","args":[-100000000000000000001],"kwargs":{}})");
  EXPECT_TRUE(
      find_value_fault(kept, R"({"l":[{"f":"0x1.7e43c8800759cp+996"},{"i":"18446744073709551616"}]})", {})
          .empty());
  EXPECT_FALSE(
      find_value_fault(kept, R"({"l":[{"f":"0x1.7e43c8800759cp+996"},{"i":"18446744073709551617"}]})", {})
          .empty());
  const std::string text =
      R"([{"call": "f", "args": [100000000000000000001, "12345678901234567890", 1.5, -9223372036854775809],)"
      R"( "expected": [123456789012345678901, 1e300]}])";
  const CodeTest test = read_code_tests({{"tests", text}}).at(0);
  EXPECT_EQ(
      test.call,
      R"({"call":"f","args":[100000000000000000001,"12345678901234567890",1.5,-9223372036854775809],"kwargs":{}})");
  EXPECT_EQ(describe(test.expected), "[123456789012345678901, 1e+300]");
  const Json tagged = {{"call", "f"},
                       {"args", {{{"$int", "100000000000000000001"}}, {{"$float", "-inf"}}}},
                       {"kwargs", {{"x", {{"$float", "nan"}}}}},
                       {"expected", {{"$int", "-20"}}}};
  const CodeTest same = read_code_tests({{"tests", Json::array({tagged})}}).at(0);
  EXPECT_EQ(same.call, R"({"call":"f","args":[100000000000000000001,-Infinity],"kwargs":{"x":NaN}})");
  EXPECT_EQ(same.expected.text, "-20");
  EXPECT_THROW(read_code_tests({{"tests", std::string(100000, '[')}}), FormatError);
  EXPECT_THROW(read_code_tests({{"tests", R"([{"call": "f", "expected": 01234567890123456789012}])"}}),
               FormatError);
}

TEST(CodeTests, TaggedNumbersMustBeNumbers) {
  for (const Json& tag :
       {Json{{"$float", "pi"}}, Json{{"$float", ""}}, Json{{"$float", "1x"}}, Json{{"$int", "1.5"}},
        Json{{"$int", "-"}}, Json{{"$int", "007"}}, Json{{"$int", ""}}}) {
    EXPECT_THROW(read_code_tests({{"tests", {{{"call", "f"}, {"expected", tag}}}}}), FormatError) << tag;
    const Json test = {{"call", "f"}, {"args", Json::array({tag})}, {"expected", 1}};
    EXPECT_THROW(read_code_tests({{"tests", Json::array({test})}}), FormatError) << tag;
  }
}

TEST(CodeTests, ColumnMayBeText) {
  EXPECT_EQ(read_code_tests({{"tests", R"(["assert f(1) == 2", {"stdin": "", "stdout": "x"}])"}}).size(), 2U);
}

}  // namespace
}  // namespace cohort
