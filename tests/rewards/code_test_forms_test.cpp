// Tests of code in the forms of public data sets.
#include <gtest/gtest.h>

#include "cohort/core/error.h"
#include "cohort/rewards/code_test.h"
#include "cohort/rewards/python_tests.h"
#include "tests/core/test_files.h"

namespace cohort {
namespace {

using Kind = CodeTest::Kind;

std::vector<CodeTest> read(const Json& tests, Json more = Json::object()) {
  more["tests"] = tests;
  return read_code_tests(more);
}

std::string fault(const Json& tests, const Json& more = Json::object()) {
  return message_of<FormatError>([&] { read(tests, more); });
}

constexpr const char* kMethodOrFunction =
    "Solution().total if hasattr(globals().get('Solution'), 'total') else total";

Json call_of(const CodeTest& test) { return Json::parse(test.call); }

bool passes(const CodeTest& test, const std::string& result) {
  return find_value_fault(test, result, Tolerance()).empty();
}

TEST(CodeTestForms, ParallelListsAreProgramsWithInput) {
  const Json apps = {{"inputs", {"4 2\n", Json::array({"1", "2"}), 7}},
                     {"outputs", {"6\n", Json::array({"3"}), "7"}}};
  for (const Json& tests : {apps, Json(apps.dump())}) {
    const auto read_tests = read(tests);
    ASSERT_EQ(read_tests.size(), 3U);
    EXPECT_EQ(read_tests[0].kind, Kind::kOutput);
    EXPECT_EQ(read_tests[0].input, "4 2\n");
    EXPECT_EQ(read_tests[0].expected_output, "6\n");
    EXPECT_EQ(read_tests[1].input, "1\n2\n");
    EXPECT_EQ(read_tests[1].expected_output, "3\n");
    EXPECT_EQ(read_tests[2].input, "7");
    EXPECT_FALSE(read_tests[0].has_imports);
  }
  EXPECT_EQ(read({{"input", {"1"}}, {"output", {"2"}}}).size(), 1U);  // CodeContests
  EXPECT_EQ(read({{"inputs", {"1"}}, {"outputs", {"2"}}, {"fn_name", nullptr}})[0].kind, Kind::kOutput);
  EXPECT_EQ(read_code_tests({{"input_output", apps.dump()}}).size(), 3U);  // the column of APPS and TACO
  EXPECT_NE(fault({{"inputs", {"1"}}, {"outputs", {"2", "3"}}}).find("1 inputs and 2 outputs"),
            std::string::npos);
}

TEST(CodeTestForms, AFunctionsNameMakesThemCalls) {
  const Json tests = {{"fn_name", "total"}, {"inputs", {{{1, 2}}, {Json::array()}}}, {"outputs", {3, 0}}};
  const auto read_tests = read(tests);
  ASSERT_EQ(read_tests.size(), 2U);
  EXPECT_EQ(read_tests[0].kind, Kind::kValue);
  EXPECT_EQ(call_of(read_tests[0]),
            Json({{"call", kMethodOrFunction}, {"args", {{1, 2}}}, {"kwargs", Json::object()}}));
  EXPECT_TRUE(read_tests[0].has_imports);
  EXPECT_TRUE(passes(read_tests[0], R"({"i":"3"})"));
  EXPECT_FALSE(passes(read_tests[0], R"({"i":"4"})"));
  // APPS has results within a list.
  const auto wrapped = read({{"fn_name", "total"}, {"inputs", {{1}}}, {"outputs", {{3}}}});
  EXPECT_TRUE(passes(wrapped[0], R"({"i":"3"})"));
  EXPECT_TRUE(passes(wrapped[0], R"({"l":[{"i":"3"}]})"));
  EXPECT_FALSE(passes(wrapped[0], R"({"l":[{"i":"4"}]})"));
  EXPECT_NE(fault({{"fn_name", "f(1) or g"}, {"inputs", {{1}}}, {"outputs", {3}}}).find("no name"),
            std::string::npos);
}

TEST(CodeTestForms, PairsSayWhatTheyAre) {
  const Json stream = {{"input", "1\n"}, {"output", "2\n"}, {"testtype", "stdin"}};
  EXPECT_EQ(read(Json::array({stream}))[0].expected_output, "2\n");
  EXPECT_EQ(read({{"input", "1\n"}, {"output", "2\n"}})[0].input, "1\n");
  EXPECT_EQ(
      read(Json::array({{{"type", "stdin_stdout"}, {"input", ""}, {"output", "2"}, {"fn_name", nullptr}}}))[0]
          .kind,
      Kind::kOutput);
  // LiveCodeBench: an argument a line, and the name among the metadata.
  const Json call = {{"input", "[1, 2]\n\"x\""}, {"output", "3"}, {"testtype", "functional"}};
  const auto named = read(Json::array({call}), {{"metadata", R"({"func_name": "total"})"}});
  EXPECT_EQ(call_of(named[0]).at("args"), Json::parse(R"([[1, 2], "x"])"));
  EXPECT_EQ(call_of(named[0]).at("call"), kMethodOrFunction);
  EXPECT_TRUE(passes(named[0], R"({"i":"3"})"));
  const Json own = {
      {"input", Json::array({1})}, {"output", "abc"}, {"type", "function_call"}, {"fn_name", "total"}};
  EXPECT_TRUE(passes(read(Json::array({own}))[0], R"({"s":"abc"})"));
  EXPECT_NE(fault(Json::array({call})).find("fn_name"), std::string::npos);
  EXPECT_NE(fault(Json::array({{{"input", "1"}, {"output", "2"}, {"testtype", "visual"}}})).find("visual"),
            std::string::npos);
}

TEST(CodeTestForms, ChecksOfACandidateAreTheirAsserts) {
  const std::string check =
      "METADATA = {'author': 'x'}\n\n\ndef check(candidate):\n    \"\"\"Notes.\"\"\"\n"
      "    assert candidate([1, 2]) == 3, 'sum of candidate'  # candidate\n"
      "    assert candidate(\n        [4]) == 4\n    assert True, 'good'\n\n    assert abs(candidate([0.1]) "
      "- 0.1) < 1e-6\n";
  for (const Json& tests :
       {Json(check + "\ncheck(total)\n"), Json::array({check + "\ncheck(total)\n"}), Json(check)}) {
    const auto read_tests = read(tests, {{"entry_point", "total"}});
    ASSERT_EQ(read_tests.size(), 3U);
    EXPECT_EQ(call_of(read_tests[0]).at("expression"), "total([1, 2])");
    EXPECT_EQ(call_of(read_tests[1]).at("expression"), "total(\n        [4])");
    EXPECT_EQ(read_tests[2].expected.number, 0.1);
    for (const CodeTest& test : read_tests) EXPECT_EQ(test.call.find("=="), std::string::npos);
  }
  EXPECT_EQ(read_code_tests({{"test", check}, {"entry_point", "Solution().total"}})[0].call.find(
                "Solution().total("),
            15U);
  EXPECT_NE(fault(check).find("entry_point"), std::string::npos);
  for (const char* other :
       {"def check(candidate):\n    for i in range(3):\n        assert candidate(i) == i\ncheck(f)",
        "def check(candidate):\n    x = candidate(1)\n    assert x == 1\ncheck(f)",
        "def check(candidate):\n    assert candidate(1) == candidate(2)\ncheck(f)",
        "def check(a, b):\n    assert a(1) == 1\ncheck(f)", "print(1)\nassert f(1) == 1",
        "import os; os._exit(0)\nassert f(1) == 1", "assert f(1) == 1\nassert is_right(f(1))"}) {
    EXPECT_NE(fault(other).find("can't be read"), std::string::npos) << other;
  }
}

TEST(CodeTestForms, SeveralAssertsAreSeveralTests) {
  EXPECT_EQ(read("assert f(1) == 2\nassert f(2) == 3; assert f(3) == 4").size(), 3U);
  EXPECT_EQ(read(Json::array({"assert f(1) == 2\nassert f(2) == 3", "assert f(3) == 4"})).size(), 3U);
  const auto with_setup = read("from math import pi\ntree = [1, [2, 3]]\nassert depth(tree) == 2");
  EXPECT_EQ(with_setup.at(0).setup, "from math import pi\ntree = [1, [2, 3]]\n");
  EXPECT_EQ(call_of(with_setup[0]).at("expression"), "depth(tree)");
  const Json mbpp = {{"test_list", {"assert depth(root) == 2"}}, {"test_setup_code", "root = Node(1)"}};
  EXPECT_EQ(read_code_tests(mbpp).at(0).setup, "root = Node(1)\n");
}

TEST(CodeTestForms, WhatIsNoneOfThemIsRefusedWithTheForms) {
  for (const Json& tests : {Json(5), Json(true), Json({{"question", "x"}}), Json("def f(): pass"),
                            Json::array({{{"question", "x"}}}), Json({{"inputs", "1"}, {"outputs", "2"}})}) {
    EXPECT_NE(fault(tests).find("inputs"), std::string::npos) << tests << fault(tests);
  }
  EXPECT_NE(fault(Json::array()).find("no test"), std::string::npos);
  EXPECT_NE(fault({{"inputs", Json::array()}, {"outputs", Json::array()}}).find("no test"),
            std::string::npos);
  EXPECT_NE(message_of<FormatError>([] { read_code_tests({{"answer", 1}}); }).find("`tests`"),
            std::string::npos);
}

}  // namespace
}  // namespace cohort
