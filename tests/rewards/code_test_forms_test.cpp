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
  // DeepCoder: each test has metadata of its own.
  Json deep_coder = call;
  for (const Json& metadata : {Json({{"func_name", "total"}}), Json(R"({"func_name": "total"})")}) {
    deep_coder["metadata"] = metadata;
    EXPECT_EQ(call_of(read(Json::array({deep_coder}))[0]).at("call"), kMethodOrFunction);
  }
  EXPECT_NE(fault(Json::array({call})).find("fn_name"), std::string::npos);
  EXPECT_NE(fault(Json::array({{{"input", "1"}, {"output", "2"}, {"testtype", "visual"}}})).find("visual"),
            std::string::npos);
}

// A test that says its type is one test, also if its input and its output are lists.
TEST(CodeTestForms, ListsOfATestWithATypeAreOneTest) {
  const auto call = [](const Json& input, const Json& output) {
    const auto tests = read(Json::array(
        {{{"type", "function_call"}, {"fn_name", "total"}, {"input", input}, {"output", output}}}));
    EXPECT_EQ(tests.size(), 1U);
    return tests.at(0);
  };
  const CodeTest two = call({1, 2}, Json::array({3}));
  EXPECT_EQ(call_of(two).at("args"), Json({1, 2}));
  EXPECT_TRUE(passes(two, R"({"i":"3"})"));
  EXPECT_TRUE(passes(two, R"({"l":[{"i":"3"}]})"));
  EXPECT_FALSE(passes(two, R"({"i":"1"})"));
  const CodeTest list = call(Json::array({{5, 6}}), {6, 5});
  EXPECT_EQ(call_of(list).at("args"), Json::array({{5, 6}}));
  EXPECT_FALSE(passes(list, R"({"i":"6"})"));
  const auto lines =
      read(Json::array({{{"testtype", "stdin"}, {"input", {"2", "5"}}, {"output", Json::array({"7"})}}}));
  EXPECT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines.at(0).input, "2\n5\n");
}

TEST(CodeTestForms, LongIntegersAreInputAndOutput) {
  const auto tests = read(R"({"inputs": [123456789012345678901, [2, 123456789012345678902]],)"
                          R"( "outputs": [123456789012345678903, 4]})");
  EXPECT_EQ(tests.at(0).input, "123456789012345678901");
  EXPECT_EQ(tests.at(0).expected_output, "123456789012345678903");
  EXPECT_EQ(tests.at(1).input, "2\n123456789012345678902\n");
}

TEST(CodeTestForms, ListsAreReadAsPythonPrintsThem) {
  const auto asserts = read(R"(['assert f("a") == \'b\'', "assert f(1) == 2"])");
  ASSERT_EQ(asserts.size(), 2U);
  EXPECT_EQ(call_of(asserts[0]).at("expression"), "f(\"a\")");
  const auto apps = read(
      " {'inputs': [[1, None], [True, 2.5]], 'outputs': [12345678901234567890123, 'x'], "
      "'fn_name': 'total'}\n");
  ASSERT_EQ(apps.size(), 2U);
  EXPECT_EQ(call_of(apps[0]).at("args"), Json({1, nullptr}));
  EXPECT_EQ(call_of(apps[1]).at("args"), Json({true, 2.5}));
  EXPECT_EQ(apps[0].expected.text, "12345678901234567890123");
  for (const char* text : {"[{1, 2}]", "[print('assert')]", "['assert f(1) == 2'"}) {
    EXPECT_NE(fault(text).find("can't be read"), std::string::npos) << text << fault(text);
  }
  EXPECT_NE(fault("{1: 'assert'}").find("no test"), std::string::npos);
}

// "1.66667 instead of 1.66667" explains nothing.
TEST(CodeTestForms, AFaultShowsTheDigitsThatDiffer) {
  const auto test = read({{"fn_name", "f"}, {"inputs", {{1}}}, {"outputs", {1.66667}}}).at(0);
  EXPECT_EQ(find_value_fault(test, R"({"f":"0x1.aaaaaaaaaaaabp+0"})", Tolerance()),
            "wrong value, 1.6666666666666667 instead of 1.66667");
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
    EXPECT_TRUE(read_tests[0].has_imports);  // HumanEval's prompts import List and math
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
