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

std::string expression_of(const CodeTest& test) { return Json::parse(test.call).at("expression"); }

std::string expression(const std::string& text) { return expression_of(convert_assert(text)); }

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

// Whether the assert holds for a call that returns `got`.
bool holds(const std::string& text, const std::string& got) {
  const CodeTest test = convert_assert(text);
  return is_equal(test.expected, *parse_python_literal(got), test.tolerance.value_or(Tolerance()));
}

TEST(AssertTest, ReadsTolerances) {
  for (const char* text :
       {"assert abs(f(1) - 2.5) < 1e-3", "assert abs(2.5 - f(1)) <= 1e-3",
        "assert math.isclose(f(1), 2.5, rel_tol=1e-3)", "assert abs(f(1)-2.5) < 0.001, 'far'",
        "assert math.fabs((f(1)) - (2.5)) < 1e-3", "assert math.isclose(2.5, f(1), abs_tol = 1e-3)"}) {
    EXPECT_EQ(expression(text), "f(1)") << text;
    EXPECT_EQ(convert_assert(text).expected.number, 2.5) << text;
    EXPECT_TRUE(holds(text, "2.5005")) << text;
    EXPECT_FALSE(holds(text, "2.51")) << text;
  }
  EXPECT_EQ(expression("assert abs(f(2 - 1) - -2.5) < 1e-3"), "f(2 - 1)");
}

TEST(AssertTest, AnAbsoluteToleranceIsNoMore) {
  EXPECT_FALSE(holds("assert abs(f(2) - 5) < 1", "1e300"));
  EXPECT_FALSE(holds("assert abs(f(2) - 5) < 1", "6.0"));
  EXPECT_TRUE(holds("assert abs(f(2) - 5) <= 1", "6.0"));
  EXPECT_TRUE(holds("assert abs(f(2) - 5) < 1", "5.9"));
  EXPECT_FALSE(holds("assert abs(f(2) - 1000000.0) < 1", "0.0"));
  EXPECT_TRUE(holds("assert abs(f(2) - 10) < 2", "11"));
  EXPECT_FALSE(holds("assert abs(f(2) - 10) < 2", "12"));
  EXPECT_FALSE(holds("assert abs(f(2) - 100000000000000000000) < 0.5", "100000000000000000001"));
}

TEST(AssertTest, IscloseIsPythons) {
  EXPECT_FALSE(holds("assert math.isclose(f(2), 1e-12)", "0.0"));
  EXPECT_FALSE(holds("assert math.isclose(f(2), 0.0, rel_tol=1e-3)", "0.0005"));
  EXPECT_TRUE(holds("assert math.isclose(f(2), 0.0, abs_tol=1e-3)", "0.0005"));
  EXPECT_TRUE(holds("assert math.isclose(f(2), 100.0, rel_tol=0.1)", "111.0"));  // of the larger one
  EXPECT_FALSE(holds("assert math.isclose(f(2), 100.0, rel_tol=0.1)", "112.0"));
  EXPECT_TRUE(holds("assert math.isclose(f(2), 100, rel_tol=0.1)", "101"));
  EXPECT_FALSE(holds("assert math.isclose(f(2), 100.0, abs_tol=1)", "102.0"));
}

TEST(AssertTest, SplitsADifferenceAtItsOwnMinus) {
  EXPECT_EQ(expression("assert abs(f(2) - 1e-3) < 1e-6"), "f(2)");
  EXPECT_EQ(convert_assert("assert abs(f(2) - 1e-3) < 1e-6").expected.number, 1e-3);
  EXPECT_EQ(expression("assert abs(1e-3 - f(2, -1)) < 1e-6"), "f(2, -1)");
  for (const char* text :
       {"assert abs(10 - f(2) + 1) < 1e-3", "assert abs(f(2) - 1 - 2) < 1", "assert abs(f(2)) < 1",
        "assert abs(f(2) + 1) < 1", "assert abs(f(2) - 1) < 0", "assert abs(f(2) - 1) < -1",
        "assert abs(f(2) - 1) < float('inf')", "assert abs(f(2) - 'a') < 1", "assert abs(f(2) * 2 - 1) < 1",
        "assert math.isclose(f(2), float('nan'))"}) {
    EXPECT_THROW(convert_assert(text), FormatError) << text;
  }
}

TEST(AssertTest, CommentsAreCutAndNothingElseIsDropped) {
  EXPECT_EQ(expression("assert f(2) == 4  # it's four"), "f(2)");
  EXPECT_EQ(expression("# it's\nassert f('#') == 4, 'why' # \"why\n"), "f('#')");
  EXPECT_EQ(expression("assert f(2) \\\n == 4"), "f(2)");
  EXPECT_EQ(expression("assert f(1, # one\n 2) == 4"), "f(1, \n 2)");
  for (const char* text :
       {"assert f(2) == 4  # one\nassert f(3) == 9", "assert f(2) == 4, 'm'\nassert f(3) == 9",
        "assert f(2) == 4, 'm'; assert f(3) == 9", "assert f(2) == 4, 'm', 'n'"}) {
    EXPECT_THROW(convert_assert(text), FormatError) << text;
  }
}

// What data sets have, and what can be compared outside.
TEST(AssertTest, KeepsWhatIsComparedOutside) {
  for (const auto& [text, call] : std::vector<std::pair<std::string, std::string>>{
           {"assert set(f((3, 4), (5, 4))) == set((4, 5))", "set(f((3, 4), (5, 4)))"},
           {"assert sorted(f([1])) == sorted([3, 1])", "sorted(f([1]))"},
           {"assert sorted(f([1]), key=lambda x: -x, reverse=True) == [3]",
            "sorted(f([1]), key=lambda x: -x, reverse=True)"},
           {"assert len(f(1)) == 3", "len(f(1))"},
           {"assert sum(10, 15) == 6", "sum(10, 15)"},
           {"assert round(f(1), 2) == 3.14", "round(f(1), 2)"},
           {"assert list(f(1)) == list((1, 2))", "list(f(1))"},
           {"assert tuple(f(1)) == tuple([1, 2])", "tuple(f(1))"},
           {"assert ''.join(f(1)) == 'ab'", "''.join(f(1))"},
           {"assert [f(1), f(2)] == [1, 4]", "[f(1), f(2)]"},
           {"assert (f(1), len(f(2))) == (1, 4)", "(f(1), len(f(2)))"},
           {"assert f(1)[0]['a'][1:-1].name == 2", "f(1)[0]['a'][1:-1].name"},
           {"assert f(1).lower() == 'a'", "f(1).lower()"},
           {"assert Stack([1]).push(2).pop() == 2", "Stack([1]).push(2).pop()"},
           {"assert decode(encode('x')) == 'x'", "decode(encode('x'))"},
           {"assert f(Node(1, Node(2)), range(3), [x for x in (1, 2)]) == 3",
            "f(Node(1, Node(2)), range(3), [x for x in (1, 2)])"},
           {"assert f(lambda x: x > 2, [3]) == [3]", "f(lambda x: x > 2, [3])"},
           {"assert (f(1)\n  [0]) == 2", "(f(1)\n  [0])"},
           {"assert Solution().f(1) is True", "Solution().f(1)"},
           {"assert bool(f(1)) == True", "bool(f(1))"},
           {"assert Solution().f(1)", "Solution().f(1)"},
           {"assert not f(1)[0]", "f(1)[0]"}}) {
    EXPECT_EQ(expression(text), call) << text;
  }
  EXPECT_EQ(describe(convert_assert("assert sorted(f(1)) == sorted([3, 1.5, 2])").expected), "[1.5, 2, 3]");
  EXPECT_EQ(describe(convert_assert("assert f(1) == sorted(('b', 'a'))").expected), "[\"a\", \"b\"]");
}

// A program could replace what judges here, or read what is expected.
TEST(AssertTest, RefusesVerdictsOfTheInside) {
  for (const char* text : {"assert bool(f(2) == 4) == True",
                           "assert math.isclose(f(2), 3.5) == True",
                           "assert math.isclose(f(2), 3.5) is True",
                           "assert all([f(1) == 2, f(2) == 3]) == True",
                           "assert any(x == 4711 for x in [f(2)]) == True",
                           "assert round(f(2) - 3.5, 3) == 0",
                           "assert operator.eq(f(2), 4)",
                           "assert operator.eq(f(2), 4) == True",
                           "assert re.match('^a+$', f(2))",
                           "assert re.match('^a+$', f(2)) == None",
                           "assert f(2) - 4 == 0",
                           "assert -f(2) == 4",
                           "assert f(2) + 1 == 5",
                           "assert f(2).__eq__(4) == True",
                           "assert f(2).startswith('ab')",
                           "assert f(2).startswith('ab') == True",
                           "assert f(2).intersection({1, 2}) == {1, 2}",
                           "assert f(2).isdigit() == True",
                           "assert max(f(2), 4) == 4",
                           "assert eq(f(2), 4) == 'yes'",
                           "assert eq(f'{f(2)}', '4') == 'yes'",
                           "assert eq((lambda: f(2))(), 4) == 'yes'",
                           "assert {4: 'yes'}.get(f(2)) == 'yes'",
                           "assert eval('f(2) == 4') == 1",
                           "assert ['no', 'yes'][f(2) == 4] == 'yes'",
                           "assert f(2)[g(4)] == 4",
                           "assert print(f(2)) == None",
                           "assert check(Solution().f(2), 4) == 'yes'",
                           "assert [x for x in [f(2)] if x == 4] == [4]",
                           "assert is_right(f(2)) == True",
                           "assert 'a'.join(f(2), g(3)) == 'a'",
                           "assert sum(f(2), 4) == 4",
                           "assert sorted(f(2), 4) == [4]",
                           "assert (f(2), 4) == (1, 4)",
                           "assert f(2) % 2 == 0"}) {
    EXPECT_THROW(convert_assert(text), FormatError) << text;
  }
  std::string deep = "assert ";
  for (int i = 0; i < 100000; ++i) deep += "set(";
  EXPECT_THROW(convert_assert(deep + "f(1" + std::string(100001, ')') + " == {1}"), FormatError);
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

TEST(CodeTests, CompareOutputs) {
  CodeTest test;
  test.expected_output = "a  b\nc\n";
  for (const char* same : {"a  b\nc", "a  b \t\nc\n\n\n", "a  b\r\nc\r\n"})
    EXPECT_EQ(find_output_fault(test, same), "") << same;
  for (const char* other : {"a b\nc", "a  b\n\nc", "a  b", "", " a  b\nc", "a  b\nc\nd"})
    EXPECT_NE(find_output_fault(test, other), "") << other;
  test.expected_output = "sum 0.5 x";
  EXPECT_NE(find_output_fault(test, "sum 0.5001 x"), "");
  test.tolerance = Tolerance::within(1e-3);
  EXPECT_EQ(find_output_fault(test, "sum  0.5001 x"), "");
  EXPECT_NE(find_output_fault(test, "sum 0.5001 y"), "");
  EXPECT_NE(find_output_fault(test, "sum 0.5001"), "");
  test.expected_output = "100";
  EXPECT_NE(find_output_fault(test, "180"), "");
  EXPECT_EQ(find_output_fault(test, "100.0005"), "");
  EXPECT_NE(find_output_fault(test, std::string("100\0junk", 8)), "");
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
    EXPECT_EQ(test.call.find("needle"), std::string::npos);
    EXPECT_EQ(test.call.find("47.11"), std::string::npos);
  }
}

// A JSON number of more than 64 bits is a float by the time that we see it.
TEST(CodeTests, LongIntegersKeepTheirDigitsOrAreRefused) {
  const Json row =
      Json::parse(R"({"tests": [{"call": "f", "args": [100000000000000000000], "expected": 1}]})");
  EXPECT_NE(message_of<FormatError>([&] { read_code_tests(row); }).find("may have lost digits"),
            std::string::npos);
  EXPECT_THROW(read_code_tests({{"tests", {{{"call", "f"}, {"expected", {1e19}}}}}}), FormatError);
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
