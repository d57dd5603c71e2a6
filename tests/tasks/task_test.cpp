// Built-in generators: determinism, splits, distinct rows, and problems that are what they claim to be.
#include "cohort/tasks/task.h"

#include <gtest/gtest.h>

#include <cctype>
#include <fstream>
#include <regex>
#include <set>

#include "cohort/core/error.h"
#include "cohort/core/jsonl_reader.h"
#include "tests/core/test_files.h"

namespace cohort {
namespace {

std::set<std::string> prompts_of(const std::vector<Json>& rows) {
  std::set<std::string> prompts;
  for (const Json& row : rows) prompts.insert(row["prompt"].get<std::string>());
  return prompts;
}

/// The names and numbers of a text in alphabetical order, without "and".
std::string tokens_of(const std::string& text) {
  std::multiset<std::string> tokens;
  std::string token;
  for (const char c : text + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      token += c;
    } else if (!token.empty()) {
      if (token != "and") tokens.insert(token);
      token.clear();
    }
  }
  std::string result;
  for (const std::string& word : tokens) result += word + " ";
  return result;
}

class EveryTask : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Tasks, EveryTask, testing::ValuesIn(task_names()));

TEST_P(EveryTask, RowIsAPureFunctionOfItsAddress) {
  TaskConfig config{.name = GetParam()};
  EXPECT_EQ(make_task_row(config, 7, 3, Split::kTrain), make_task_row(config, 7, 3, Split::kTrain));
  EXPECT_NE(make_task_row(config, 7, 3, Split::kTrain), make_task_row(config, 7, 4, Split::kTrain));
  EXPECT_NE(make_task_row(config, 7, 3, Split::kTrain), make_task_row(config, 8, 3, Split::kTrain));
  EXPECT_NE(make_task_row(config, 7, 3, Split::kTrain), make_task_row(config, 7, 3, Split::kTest));
}

TEST_P(EveryTask, LongerFilesBeginWithShorterOnes) {
  TaskConfig config{.name = GetParam()};
  std::vector<Json> few = make_task_rows(config, 5, 50, Split::kTrain);
  std::vector<Json> many = make_task_rows(config, 5, 200, Split::kTrain);
  EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin()));
}

TEST_P(EveryTask, SplitsShareNoPromptWhateverTheSeeds) {
  // A space of a few hundred problems, so that both files hold most of it.
  TaskConfig config{.name = GetParam(), .num_operands = 3, .max_value = 5};
  std::set<std::string> train = prompts_of(make_task_rows(config, 1, 240, Split::kTrain));
  std::set<std::string> test = prompts_of(make_task_rows(config, 2, 25, Split::kTest));
  EXPECT_EQ(train.size(), 240u);
  EXPECT_EQ(test.size(), 25u);
  for (const std::string& prompt : test) EXPECT_EQ(train.count(prompt), 0u) << prompt;
}

TEST_P(EveryTask, DefaultsHoldEnoughHeldOutProblems) {
  EXPECT_EQ(make_task_rows({.name = GetParam()}, 1, 1024, Split::kTest).size(), 1024u);
}

TEST_P(EveryTask, SmallestSpaceHasBothSplits) {
  TaskConfig config{.name = GetParam(), .num_operands = 2, .max_value = 4};
  make_task_row(config, 1, 0, Split::kTrain);
  make_task_row(config, 1, 0, Split::kTest);
}

TEST_P(EveryTask, SolutionIsWrapped) {
  const bool is_program = GetParam() == "programs";
  for (const Json& row : make_task_rows({.name = GetParam()}, 1, 20, Split::kTrain)) {
    const std::string solution = row["solution"];
    EXPECT_TRUE(solution.starts_with(is_program ? "```python\ndef f(a, b): return " : "<think>")) << solution;
    EXPECT_TRUE(solution.ends_with(is_program ? "\n```" : "</answer>")) << solution;
    EXPECT_EQ(solution.find("</think>\n<answer>") != std::string::npos, !is_program);
  }
}

TEST(Countdown, NumbersAreSortedAndInRange) {
  TaskConfig config{.name = "countdown", .num_operands = 4, .max_value = 9};
  std::set<int64_t> seen;
  for (const Json& row : make_task_rows(config, 3, 200, Split::kTrain)) {
    auto numbers = row["numbers"].get<std::vector<int64_t>>();
    ASSERT_EQ(numbers.size(), 4u);
    EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end()));
    EXPECT_GE(numbers.front(), 1);
    EXPECT_LE(numbers.back(), 9);
    EXPECT_GT(row["target"].get<int64_t>(), 0);
    EXPECT_LT(row["target"].get<int64_t>(), 45);
    seen.insert(numbers.begin(), numbers.end());
  }
  EXPECT_EQ(seen.size(), 9u);
}

TEST(Countdown, PromptStatesTheProblem) {
  Json row = make_task_row({.name = "countdown"}, 1, 0, Split::kTrain);
  std::string expected = "Numbers:";
  for (const Json& number : row["numbers"]) expected += " " + number.dump();
  expected += ". Target: " + row["target"].dump() + ".\n";
  EXPECT_EQ(row["prompt"].get<std::string>().rfind(expected, 0), 0u) << row["prompt"];
}

TEST(Programs, EveryNumberIsUsedOnceAndTestsAreHidden) {
  for (const Json& row :
       make_task_rows({.name = "programs", .num_operands = 4, .max_value = 9}, 3, 200, Split::kTrain)) {
    const std::string prompt = row["prompt"], solution = row["solution"];
    // "... with a, b, 3 and 7, each once": the same names and numbers stand in the solution.
    const size_t begin = prompt.find("with ") + 5;
    const std::string stated = tokens_of(prompt.substr(begin, prompt.find(", each once") - begin));
    EXPECT_EQ(tokens_of(solution.substr(solution.find("return ") + 7)), stated) << row;
    ASSERT_EQ(row["tests"].size(), 2u);
    for (const Json& test : row["tests"]) {
      EXPECT_EQ(test["call"], "f");
      EXPECT_EQ(prompt.find(str("f(", test["args"][0].dump(), ", ", test["args"][1].dump(), ")")),
                std::string::npos);
    }
  }
}

TEST(Programs, MissesAreOtherProgramsForTheSameProblems) {
  const std::vector<Json> right = make_task_rows({.name = "programs"}, 3, 300, Split::kTrain);
  const std::vector<Json> mixed =
      make_task_rows({.name = "programs", .solution_success = 0.6}, 3, 300, Split::kTrain);
  int num_same = 0;
  for (size_t i = 0; i < right.size(); ++i) {
    EXPECT_EQ(right[i]["prompt"], mixed[i]["prompt"]);
    EXPECT_EQ(right[i]["tests"], mixed[i]["tests"]);
    num_same += right[i]["solution"] == mixed[i]["solution"];
  }
  // 180 are expected; five standard deviations are 42.
  EXPECT_GT(num_same, 180 - 42);
  EXPECT_LT(num_same, 180 + 42);
}

/// The steps of a worked solution whose result is not what their operands give.
int count_slips(const std::string& solution) {
  static const std::regex step(R"((\d+) ([-+*/]) (\d+) = (\d+))");
  int num_slips = 0;
  for (std::sregex_iterator match(solution.begin(), solution.end(), step), end; match != end; ++match) {
    const int left = std::stoi((*match)[1]), right = std::stoi((*match)[3]), result = std::stoi((*match)[4]);
    const char op = (*match)[2].str()[0];
    num_slips += op == '+'   ? left + right != result
                 : op == '-' ? left - right != result
                 : op == '*' ? left * right != result
                             : right * result != left;
  }
  return num_slips;
}

TEST(Arithmetic, MissesSlipInOneStepAndGoOnWithIt) {
  TaskConfig config{.name = "arithmetic", .num_operands = 4, .max_value = 9};
  const std::vector<Json> right = make_task_rows(config, 3, 300, Split::kTrain);
  config.solution_success = 0.4;
  const std::vector<Json> mixed = make_task_rows(config, 3, 300, Split::kTrain);
  const auto first_step = [](const Json& row) {
    const std::string solution = row["solution"];
    return solution.substr(0, solution.find('\n'));
  };
  int num_same = 0, num_early = 0;
  for (size_t i = 0; i < right.size(); ++i) {
    EXPECT_EQ(right[i]["prompt"], mixed[i]["prompt"]);
    EXPECT_EQ(right[i]["answer"], mixed[i]["answer"]);
    EXPECT_EQ(count_slips(right[i]["solution"]), 0) << right[i];
    const bool is_same = right[i]["solution"] == mixed[i]["solution"];
    num_same += is_same;
    if (is_same) continue;
    num_early += first_step(right[i]) != first_step(mixed[i]);
    const std::string solution = mixed[i]["solution"], answer = mixed[i]["answer"].dump();
    EXPECT_EQ(count_slips(solution), 1) << mixed[i];
    EXPECT_EQ(solution.find("<answer>" + answer + "</answer>"), std::string::npos) << mixed[i];
    const size_t last_result = solution.find_last_of('=') + 2;
    const std::string result = solution.substr(last_result, solution.find("</think>") - last_result);
    EXPECT_TRUE(solution.ends_with("<answer>" + result + "</answer>")) << solution;
  }
  // 120 are expected; five standard deviations are 42.
  EXPECT_GT(num_same, 120 - 42);
  EXPECT_LT(num_same, 120 + 42);
  EXPECT_GT(num_early, 20);  // of some 180 slips in one of three steps
}

TEST(Tasks, UnknownNameSuggestsTheNearest) {
  try {
    make_task_row({.name = "countdwon"}, 1, 0, Split::kTrain);
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("\"countdown\""), std::string::npos) << error.what();
  }
}

TEST(Tasks, RefusesWhatIsOutOfRange) {
  EXPECT_THROW(make_task_row({.name = "countdown", .num_operands = 1}, 1, 0, Split::kTrain), ConfigError);
  EXPECT_THROW(make_task_row({.name = "countdown", .num_operands = 7}, 1, 0, Split::kTrain), ConfigError);
  EXPECT_THROW(make_task_row({.name = "arithmetic", .max_value = 0}, 1, 0, Split::kTrain), ConfigError);
  EXPECT_THROW(make_task_row({.name = "countdown", .solution_success = 1.1}, 1, 0, Split::kTrain),
               ConfigError);
  EXPECT_THROW(make_task_row({.name = "arithmetic", .solution_success = -0.1}, 1, 0, Split::kTrain),
               ConfigError);
  EXPECT_THROW(parse_split("validation"), ConfigError);
  EXPECT_EQ(parse_split("test"), Split::kTest);
}

TEST(Tasks, SaysWhenTheProblemSpaceIsUsedUp) {
  TaskConfig config{.name = "countdown", .num_operands = 2, .max_value = 4};
  EXPECT_THROW(make_task_rows(config, 1, 100000, Split::kTrain), ConfigError);
}

TEST(Tasks, FileHoldsTheRows) {
  const TemporaryDirectory directory;
  const std::filesystem::path path = directory.path() / "rows.jsonl";
  TaskConfig config{.name = "arithmetic"};
  write_task_jsonl(config, 9, 25, Split::kTest, path);
  EXPECT_EQ(read_rows(path), make_task_rows(config, 9, 25, Split::kTest));
  EXPECT_THROW(write_task_jsonl(config, 9, 1, Split::kTest, "/nowhere/at/all.jsonl"), FormatError);
}

}  // namespace
}  // namespace cohort
