// The verifiers: countdown, format and accuracy on right, wrong, malformed and hostile completions.
#include <gtest/gtest.h>

#include <limits>

#include "cohort/tasks/task.h"
#include "tests/rewards/test_rows.h"

namespace cohort {
namespace {

std::string score(const std::string& type, Json fields, const std::string& text) {
  return brief(make_reward({.name = type})->score(make_prompt(std::move(fields)), make_completion(text)));
}

std::string countdown(const std::string& answer) {
  return score("countdown", {{"numbers", {7, 8, 25}}, {"target", 24}}, "<answer>" + answer + "</answer>");
}

TEST(CountdownReward, AcceptsEverySpellingOfTheSolution) {
  EXPECT_EQ(countdown("(25 - 8) + 7"), "1 ok");
  EXPECT_EQ(countdown("25-8+7"), "1 ok");
  EXPECT_EQ(countdown("\n 7 + ( 25 - 8 ) \n"), "1 ok");
  EXPECT_EQ(countdown("((7))-(8-25)"), "1 ok");
  EXPECT_EQ(countdown("-8 + 7 + 25"), "1 ok");
}

TEST(CountdownReward, ScoresWrongAnswersZero) {
  EXPECT_EQ(countdown("25 + 8 + 7"), "0 ok");
  EXPECT_EQ(countdown("24"), "0 ok");
  EXPECT_EQ(countdown("25 - 8 + 7 + 0"), "0 ok");
  EXPECT_EQ(countdown("8 + 8 + 8"), "0 ok");
  EXPECT_EQ(countdown("(25 - 8) + 7 + 25 - 25"), "0 ok");
  EXPECT_EQ(countdown("25 / (8 - 8) + 7"), "0 ok");
}

TEST(CountdownReward, ScoresMalformedAnswersZeroAndDoesNotMaskThem) {
  for (const char* answer : {"", " ", "25 - 8 + 7 = 24", "25 - 8 7", "(25 - 8 + 7", "25 - 8) + 7",
                             "25 ** 8 + 7", "25 // 8", "25.0 - 8 + 7", "+25 - 8 + 7", "twenty-five",
                             "25 - 8 + 7;", "25 - 8 + \xe2\x82", "()", "__import__('os')"}) {
    EXPECT_EQ(countdown(answer), "0 ok") << answer;
  }
  EXPECT_EQ(countdown(std::string("25 - 8 + 7\0 ;", 13)), "0 ok");
}

TEST(CountdownReward, IsExact) {
  Json fields = {{"numbers", {3, 3, 8, 8}}, {"target", 24}};
  EXPECT_EQ(score("countdown", fields, "<answer>8 / (3 - 8 / 3)</answer>"), "1 ok");
  fields = {{"numbers", {1, 3, 49, 49}}, {"target", 3}};
  // In floating point 1 / 49 * 49 is below 1.
  EXPECT_EQ(score("countdown", fields, "<answer>1 / 49 * 49 * 3</answer>"), "1 ok");
}

TEST(CountdownReward, FollowsPrecedenceFromLeftToRight) {
  EXPECT_EQ(score("countdown", {{"numbers", {8, 4, 2}}, {"target", 2}}, "<answer>8 - 4 - 2</answer>"),
            "1 ok");
  EXPECT_EQ(score("countdown", {{"numbers", {8, 4, 2}}, {"target", 1}}, "<answer>8 / 4 / 2</answer>"),
            "1 ok");
  EXPECT_EQ(score("countdown", {{"numbers", {8, 4, 2}}, {"target", 16}}, "<answer>8 + 4 * 2</answer>"),
            "1 ok");
}

TEST(CountdownReward, ReadsTheLastAnswer) {
  Json fields = {{"numbers", {1, 2}}, {"target", 3}};
  EXPECT_EQ(score("countdown", fields, "<answer>2 - 1</answer> no <answer>1 + 2</answer>"), "1 ok");
  EXPECT_EQ(score("countdown", fields, "<answer>1 + 2</answer> no <answer>2 - 1</answer>"), "0 ok");
  EXPECT_EQ(score("countdown", fields, "<answer>1 + 2</answer><answer>2 -"), "1 ok");
  for (const char* text : {"", "1 + 2", "<answer>1 + 2", "1 + 2</answer>", "</answer>1 + 2<answer>"}) {
    EXPECT_EQ(score("countdown", fields, text), "0 ok") << text;
  }
}

TEST(CountdownReward, SurvivesHostileExpressions) {
  const std::string deep = std::string(100000, '(') + "7" + std::string(100000, ')');
  EXPECT_EQ(countdown(deep), "0 unparsed");
  EXPECT_EQ(countdown(std::string(100000, '-') + "7"), "0 unparsed");
  EXPECT_EQ(countdown(std::string(150, '(') + "25 - 8 + 7" + std::string(150, ')')), "1 ok");
  EXPECT_EQ(countdown(std::string(100000, '9')), "0 ok");
  std::string long_sum = "1";
  for (int i = 0; i < 20000; ++i) long_sum += " + 1";
  EXPECT_EQ(countdown(long_sum), "0 ok");
  std::string huge = "999999999999999999";
  for (int i = 0; i < 10; ++i) huge += " * 999999999999999999";
  EXPECT_EQ(countdown(huge), "0 ok");  // it overflows, but it does not use the numbers either
  Json fields = {{"numbers", {999999999999999999, 999999999999999999, 999999999999999999}}, {"target", 1}};
  EXPECT_EQ(score("countdown", fields,
                  "<answer>999999999999999999 * 999999999999999999 * 999999999999999999</answer>"),
            "0 unparsed");
}

TEST(CountdownReward, RowsWithoutReadableColumnsAreUnparsed) {
  const std::string text = "<answer>1 + 2</answer>";
  for (const char* fields :
       {R"({})", R"({"numbers":[1,2]})", R"({"target":3})", R"({"numbers":"1 2","target":3})",
        R"({"numbers":[],"target":3})", R"({"numbers":[1,"2"],"target":3})",
        R"({"numbers":[1,2],"target":"3"})", R"({"numbers":[1,2.5],"target":3})"}) {
    RewardResult result =
        make_reward({.name = "countdown"})->score(make_prompt(Json::parse(fields)), make_completion(text));
    EXPECT_EQ(brief(result), "0 unparsed") << fields;
    EXPECT_NE(result.detail.find("rows.jsonl:5"), std::string::npos) << result.detail;
  }
}

TEST(FormatReward, WantsBothTagPairsOnceInOrder) {
  for (const char* text :
       {"<think>a</think><answer>b</answer>", " \n<think>a\n<b></think>\n\n<answer></answer>\n"}) {
    EXPECT_EQ(score("format", {}, text), "1 ok") << text;
  }
  for (const char* text :
       {"", "<think>a</think>", "<answer>b</answer>", "<answer>b</answer><think>a</think>",
        "x<think>a</think><answer>b</answer>", "<think>a</think>x<answer>b</answer>",
        "<think>a</think><answer>b</answer>x", "<think>a<answer>b</answer></think>",
        "<think>a</think><think>a</think><answer>b</answer>",
        "<think>a</think><answer>b</answer><answer>b</answer>", "<think>a</think><answer>b</answer></answer>",
        "<think>a</think><answer>b", "</think>a<think><answer>b</answer>",
        "<Think>a</Think><answer>b</answer>", "<think>a<think>b</think><answer>c</answer>",
        "<think>a</think><answer><answer>b</answer>"}) {
    EXPECT_EQ(score("format", {}, text), "0 ok") << text;
  }
}

class EveryTaskSolution : public testing::TestWithParam<TaskConfig> {};

INSTANTIATE_TEST_SUITE_P(
    Tasks, EveryTaskSolution,
    testing::Values(TaskConfig{.name = "countdown"}, TaskConfig{.name = "countdown", .num_operands = 4},
                    TaskConfig{.name = "countdown", .num_operands = 6, .max_value = 100},
                    TaskConfig{.name = "arithmetic"},
                    TaskConfig{.name = "arithmetic", .num_operands = 5, .max_value = 50}));

TEST_P(EveryTaskSolution, ScoresOne) {
  const std::string type = GetParam().name == "countdown" ? "countdown" : "accuracy";
  for (Split split : {Split::kTrain, Split::kTest}) {
    for (const Json& row : make_task_rows(GetParam(), 11, 300, split)) {
      ASSERT_EQ(score(type, row, row["solution"]), "1 ok") << row;
      ASSERT_EQ(score("format", row, row["solution"]), "1 ok") << row;
    }
  }
}

TEST(Countdown, SomeSolutionsAreTriesThatMiss) {
  const TaskConfig right{.name = "countdown"}, mixed{.name = "countdown", .solution_success = 0.4};
  const auto expected = make_task_rows(right, 5, 500, Split::kTrain);
  const auto rows = make_task_rows(mixed, 5, 500, Split::kTrain);
  int num_right = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    ASSERT_EQ(rows[i]["prompt"], expected[i]["prompt"]);
    const std::string result = score("countdown", rows[i], rows[i]["solution"]);
    ASSERT_TRUE(result == "1 ok" || result.starts_with("0 ok")) << result << " " << rows[i];
    ASSERT_EQ(score("format", rows[i], rows[i]["solution"]), "1 ok") << rows[i];
    num_right += result == "1 ok";
    if (result == "1 ok") {
      ASSERT_EQ(rows[i]["solution"], expected[i]["solution"]);
    }
  }
  EXPECT_NEAR(num_right / 500.0, 0.4, 0.07);  // three deviations
}

// The evaluator of the countdown reward judges the text that the prompt shows.
TEST(Arithmetic, AnswerIsTheValueOfTheExpressionInThePrompt) {
  for (const Json& row : make_task_rows({.name = "arithmetic"}, 2, 200, Split::kTrain)) {
    std::string prompt = row["prompt"];
    std::string expression = prompt.substr(8, prompt.find(".\n") - 8);
    Json fields = {{"numbers", Json::array()}, {"target", row["answer"]}};
    for (size_t i = 0; i < expression.size();) {
      size_t end = expression.find_first_not_of("0123456789", i);
      if (end != i) fields["numbers"].push_back(std::stoll(expression.substr(i, end - i)));
      i = end == i ? i + 1 : std::min(end, expression.size());
    }
    ASSERT_EQ(score("countdown", fields, "<answer>" + expression + "</answer>"), "1 ok") << row;
  }
}

std::string accuracy(Json gold, const std::string& answer) {
  return score("accuracy", {{"answer", std::move(gold)}}, "<think>1</think><answer>" + answer + "</answer>");
}

TEST(AccuracyReward, ComparesValuesExactly) {
  EXPECT_EQ(accuracy(42, "42"), "1 ok");
  EXPECT_EQ(accuracy("42", " 42.00 "), "1 ok");
  EXPECT_EQ(accuracy("1,234,567", "1234567"), "1 ok");
  EXPECT_EQ(accuracy(1234.5, "1,234.5"), "1 ok");
  EXPECT_EQ(accuracy(0.1, "1/10"), "1 ok");
  EXPECT_EQ(accuracy("-3/4", "-0.75"), "1 ok");
  EXPECT_EQ(accuracy("-\\frac{3}{4}", "-6 / 8"), "1 ok");
  EXPECT_EQ(accuracy("0.5", "50%"), "1 ok");
  EXPECT_EQ(accuracy("0.125", "12.5\\%"), "1 ok");
  EXPECT_EQ(accuracy("+7", "$7$"), "1 ok");
  EXPECT_EQ(accuracy("5", "$5.00"), "1 ok");
  EXPECT_EQ(accuracy(".5", "5.0e-1"), "1 ok");
  EXPECT_EQ(accuracy(1e20, "100000000000000000000"), "1 ok");
  EXPECT_EQ(accuracy("1/3", "0.3333333333333333"), "0 ok");
  EXPECT_EQ(accuracy("0", "-0"), "1 ok");
  EXPECT_EQ(accuracy("170141183460469231731687303715884105727", "170141183460469231731687303715884105726"),
            "0 ok");
  EXPECT_EQ(accuracy(42, "-42"), "0 ok");
  EXPECT_EQ(accuracy(42, "4.2"), "0 ok");
  EXPECT_EQ(accuracy("1/3", "1/2"), "0 ok");
  EXPECT_EQ(accuracy(12345, "1,2345"), "0 ok");
  EXPECT_EQ(accuracy(123, "1,23"), "0 ok");
}

TEST(AccuracyReward, ScoresWhatIsNoAnswerZero) {
  for (const char* answer : {"", "forty-two", "4 2", "42,00", "1,2345", "42/0", "\\frac{42}{1", "0x2a", "nan",
                             "inf", "42e", "e5", "%", ".", "42 or 43", "42 of 42"}) {
    EXPECT_EQ(accuracy(42, answer), "0 ok") << answer;
  }
  EXPECT_EQ(score("accuracy", {{"answer", 42}}, ""), "0 ok");
  EXPECT_EQ(score("accuracy", {{"answer", 42}}, "\\boxed{42"), "0 ok");
}

TEST(AccuracyReward, ReadsTagsAndBoxes) {
  Json fields = {{"answer", "1/2"}};
  EXPECT_EQ(score("accuracy", fields, "so \\boxed{\\frac{1}{2}}."), "1 ok");
  EXPECT_EQ(score("accuracy", fields, "\\boxed{3}, or rather \\boxed{0.5}"), "1 ok");
  EXPECT_EQ(score("accuracy", fields, "\\boxed{3} or \\boxed{0.5}"), "0 ok");
  EXPECT_EQ(score("accuracy", fields, "\\boxed{3} <answer>0.5</answer>"), "1 ok");
  EXPECT_EQ(score("accuracy", fields, "<answer>\\boxed{0.5}</answer>"), "1 ok");
  EXPECT_EQ(score("accuracy", fields, "<answer>3</answer> <answer>0.5</answer>"), "1 ok");
  EXPECT_EQ(score("accuracy", fields, "it is 0.5"), "1 ok");
}

TEST(AccuracyReward, ReadsChoicesWithTheirText) {
  for (const char* answer :
       {"B", "(B)", "(B) 12", "\\textbf{(B)}\\ 12", "\\text{(B) }12", "\\text{B}: 12", "B. 12", "B) 12",
        "**(B)** 12", "Option B", "option (B) 12", "**B**", "B: twelve apples"}) {
    EXPECT_EQ(accuracy("B", answer), "1 ok") << answer;
  }
  for (const char* answer :
       {"(C) 12", "12", "b. 12", "B + 12", "(B) + 12", "B = 12", "B:12", "(B)12", "A or B", "(B) or (C)",
        "(A) 11 (B) 12", "A. 11 B. 12", "B 12", "BB) 12", "(B) \\cup C"}) {
    EXPECT_EQ(accuracy("B", answer), "0 ok") << answer;
  }
  const std::string gold = "\\textbf{(B)}\\ 12";
  for (const char* answer : {"B", "12", "(B) 12", "B. 12.0"})
    EXPECT_EQ(accuracy(gold, answer), "1 ok") << answer;
  for (const char* answer : {"C", "13", "(C) 12", "(B) 13"})
    EXPECT_EQ(accuracy(gold, answer), "0 ok") << answer;
}

TEST(AccuracyReward, SaysWhyThereIsNoAnswer) {
  const RewardResult result =
      make_reward({.name = "accuracy"})
          ->score(make_prompt({{"answer", 12}}), make_completion("The answer is not 12."));
  EXPECT_EQ(brief(result), "0 ok");
  EXPECT_EQ(result.detail, "no answer: a value is denied, and none named");
}

TEST(AccuracyReward, LooksForAnswersWhereItIsTold) {
  const auto reward = make_reward({.name = "accuracy", .keys = {{"answer_places", "boxed"}}});
  EXPECT_EQ(
      brief(reward->score(make_prompt({{"answer", 2}}), make_completion("\\boxed{2} <answer>3</answer>"))),
      "1 ok");
  EXPECT_EQ(brief(reward->score(make_prompt({{"answer", 2}}), make_completion("it is 2"))), "0 ok");
  EXPECT_THROW(make_reward({.name = "accuracy", .keys = {{"answer_places", "box"}}}), ConfigError);
  EXPECT_THROW(make_reward({.name = "format", .keys = {{"answer_places", "boxed"}}}), ConfigError);
}

TEST(AccuracyReward, ReadsGoldAnswersAsDataSetsSpellThem) {
  const std::string text = "<answer>72</answer>";
  EXPECT_EQ(score("accuracy", {{"solution", "We get $\\boxed{72}$."}}, text), "1 ok");
  EXPECT_EQ(score("accuracy", {{"answer", "48 + 24 = 72\n#### 72"}}, text), "1 ok");
  EXPECT_EQ(score("accuracy", {{"answer", 72}, {"solution", "71"}}, text), "1 ok");
  EXPECT_EQ(score("accuracy", {{"answer", nullptr}, {"solution", "72"}}, text), "1 ok");
  EXPECT_EQ(score("accuracy", {{"answer", "blue"}}, "<answer>Blue.</answer>"), "1 ok");
}

TEST(AccuracyReward, AGoldAnswerThatItCannotJudgeIsUnparsed) {
  EXPECT_EQ(score("accuracy", {}, "<answer>1</answer>"), "0 unparsed");
  EXPECT_EQ(accuracy("", "1"), "0 unparsed");
  EXPECT_EQ(accuracy(nullptr, "1"), "0 unparsed");
  for (const char* gold : {"\\frac{1", "\\lim_{x \\to 0} x", "9^{9^{9^9}}", "\\log 0"}) {
    EXPECT_EQ(accuracy(gold, "1"), "0 unparsed") << gold;
    EXPECT_EQ(accuracy(gold, "\\prod_{k=1}^5 k"), "0 unparsed") << gold;
    EXPECT_EQ(accuracy(gold, gold), "1 ok") << gold;
  }
  RewardResult result =
      make_reward({.name = "accuracy"})->score(make_prompt({{"answer", "\\frac{1"}}), make_completion("1"));
  EXPECT_NE(result.detail.find("rows.jsonl:5"), std::string::npos) << result.detail;
}

TEST(AccuracyReward, AnAnswerThatItCannotReadIsWrong) {
  const std::string deep = std::string(300, '(') + "6" + std::string(300, ')');
  for (const std::string& answer :
       {std::string(100000, '1'), "0." + std::string(100000, '1'), deep, std::string("\\int_0^1 dx"),
        std::string("9^{9^{9^9}}"), std::string("1e999999999"), std::string("\\tan 90^\\circ"),
        std::string("\\prod_{k=1}^3 k"), std::string("\\exists x"), std::string("1, 3, \\ldots"),
        std::string("\\begin{cases} 6 & x \\\\ 1 & y \\end{cases}"), std::string("\\foo{6}")}) {
    for (const char* gold : {"6", "\\frac{1}{2}", "x+1", "(1,2)", "\\{1,2\\}", "blue", "5\\text{ cm}"})
      EXPECT_EQ(accuracy(gold, answer), "0 ok") << gold << " " << answer.substr(0, 40);
  }
}

TEST(AccuracyReward, RoundedGoldAnswersAreAnOption) {
  const auto score_of = [](bool is_rounded, const Json& gold, const std::string& answer) {
    return brief(make_reward({.name = "accuracy", .keys = {{"rounded_gold", is_rounded}}})
                     ->score(make_prompt({{"answer", gold}}), make_completion("\\boxed{" + answer + "}")));
  };
  for (const auto& [gold, answer] :
       std::vector<std::pair<Json, std::string>>{{"66.7", "\\frac{200}{3}"},
                                                 {"2.72", "e"},
                                                 {1.41, "\\sqrt{2}"},
                                                 {"0.67", "66.67\\%"},
                                                 {"12.3\\%", "12.34\\%"},
                                                 {"-0.5", "-0.54"},
                                                 {"3.7\\text{ m}", "3.68\\text{ m}"},
                                                 {"3.7\\text{ m}", "368\\text{ cm}"}}) {
    EXPECT_EQ(score_of(true, gold, answer), "1 ok") << gold << " " << answer;
    EXPECT_EQ(score_of(false, gold, answer), "0 ok") << gold << " " << answer;
  }
  for (const auto& [gold, answer] :
       std::vector<std::pair<Json, std::string>>{{"66.7", "66.6"},
                                                 {"2.72", "2.7"},
                                                 {"67", "\\frac{200}{3}"},
                                                 {"3.7\\text{ m}", "3.68\\text{ kg}"},
                                                 {"0.5", "x"},
                                                 {"(1.5, 2.5)", "(1.52, 2.5)"}}) {
    EXPECT_EQ(score_of(true, gold, answer), "0 ok") << gold << " " << answer;
  }
}

TEST(MakeReward, NamesTheNearestType) {
  try {
    make_reward({.name = "speed", .type = "acuracy"});
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("\"accuracy\""), std::string::npos) << error.what();
  }
}

TEST(MakeReward, RefusesSettingsThatAreMissingOrWithoutEffect) {
  EXPECT_THROW(make_reward({.name = "format", .keys = {{"command", "cat"}}}), ConfigError);
  for (const FieldTable& keys : std::vector<FieldTable>{{},
                                                        {{"command", ""}},
                                                        {{"command", "cat"}, {"timeout_s", 0.0}},
                                                        {{"command", "cat"}, {"workers", 0}},
                                                        {{"command", "cat"}, {"batch_size", 0}},
                                                        {{"command", "cat"}, {"function", "a.py:f"}}})
    EXPECT_THROW(make_reward({.name = "mine", .type = "command", .keys = keys}), ConfigError);
  EXPECT_THROW(make_reward({.name = "format", .weight = std::numeric_limits<double>::infinity()}),
               ConfigError);
}

}  // namespace
}  // namespace cohort
