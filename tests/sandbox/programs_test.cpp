// The task `programs` with the reward `code`: what the one makes, the other judges.
#include <gtest/gtest.h>

#include <regex>

#include "cohort/rewards/reward.h"
#include "cohort/tasks/task.h"
#include "tests/rewards/test_rows.h"
#include "tests/sandbox/sandbox_fixture.h"

namespace cohort {
namespace {

/// A program that knows the examples of the prompt and nothing else.
std::string table_of_examples(const std::string& prompt) {
  static const std::regex kExample(R"(f\((\d+), (\d+)\) = (-?\d+))");
  std::string table;
  for (std::sregex_iterator match(prompt.begin(), prompt.end(), kExample); match != std::sregex_iterator();
       ++match)
    table += str("(", (*match)[1], ", ", (*match)[2], "): ", (*match)[3], ", ");
  return "```python\ndef f(a, b): return {" + table + "}.get((a, b))\n```";
}

TEST(Programs, SolutionsPassAndWhatOnlyLooksLikeOneFails) {
  const auto reward = make_reward({.name = "code", .keys = {{"waive_layers", waived_layers()}}});
  const auto score = [&](const Json& row, const std::string& completion) {
    return brief(reward->score(make_prompt(row), make_completion(completion)));
  };
  TaskConfig config{.name = "programs", .num_operands = 4};
  const std::vector<Json> right = make_task_rows(config, 5, 12, Split::kTrain);
  config.solution_success = 0.0;
  const std::vector<Json> wrong = make_task_rows(config, 5, 12, Split::kTrain);
  for (size_t i = 0; i < right.size(); ++i) {
    EXPECT_EQ(score(right[i], right[i]["solution"]), "1 ok") << right[i];
    EXPECT_NE(score(right[i], wrong[i]["solution"]), "1 ok") << wrong[i];
    EXPECT_EQ(score(right[i], table_of_examples(right[i]["prompt"])), "0 ok") << right[i];
    EXPECT_EQ(score(right[i], ""), "0 ok");
  }
}

}  // namespace
}  // namespace cohort
