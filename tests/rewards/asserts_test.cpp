// Asserts: what of them goes into the sandbox, what is compared outside, and what is refused.
#include <gtest/gtest.h>

#include "cohort/core/error.h"
#include "cohort/rewards/assert_test.h"
#include "cohort/rewards/python_literal.h"

namespace cohort {
namespace {

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
}

TEST(AssertTest, RefusesWhatIsNestedDeeply) {
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

}  // namespace
}  // namespace cohort
