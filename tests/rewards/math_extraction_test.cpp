// Where the verifier finds the answer in a completion and in a gold column.
#include <gtest/gtest.h>

#include "cohort/core/error.h"
#include "cohort/rewards/math/extraction.h"

namespace cohort::math {
namespace {

std::string answer(std::string_view completion, const std::vector<std::string>& places = {}) {
  return std::string(find_answer(completion, read_places(places)).value_or("nothing"));
}

TEST(MathExtraction, TakesTheLastOfEachPlace) {
  EXPECT_EQ(answer("\\boxed{1} \\boxed{\\frac{1}{2}} done"), "\\frac{1}{2}");
  EXPECT_EQ(answer("<answer>1</answer><answer> 2 </answer>"), "2");
  EXPECT_EQ(answer("<answer>$\\boxed{3}$</answer>"), "3");
  EXPECT_EQ(answer("\\boxed 5 then"), "5");
  EXPECT_EQ(answer("\\fbox{6}"), "6");
  EXPECT_EQ(answer("\\boxed{\\{1,2\\}}"), "\\{1,2\\}");
  EXPECT_EQ(answer("The answer is 1.\nThe final answer is $2$. I hope it is correct."), "2");
  EXPECT_EQ(answer("**Answer:** 3.5"), "3.5");
  EXPECT_EQ(answer("The answer is therefore $x = 4$, as wanted."), "x = 4");
  EXPECT_EQ(answer("from $a$ to $b$ and \\[c\\] we go"), "c");
  EXPECT_EQ(answer("so 5 of them, or -2/3 in all"), "-2/3");
  EXPECT_EQ(answer("rising by 12.5% then"), "12.5%");
  EXPECT_EQ(answer("x^2+1"), "x^2+1");
  EXPECT_EQ(answer("Nothing of use here, really! None at all"), "nothing");
}

TEST(MathExtraction, FollowsTheOrderOfPlaces) {
  const std::string text = "\\boxed{1} <answer>2</answer> the answer is 3 or $4$";
  EXPECT_EQ(answer(text), "2");
  EXPECT_EQ(answer(text, {"boxed", "tag"}), "1");
  EXPECT_EQ(answer(text, {"phrase"}), "4");
  EXPECT_EQ(answer("it is 42", {"tag", "boxed"}), "nothing");
  EXPECT_THROW(read_places({"box"}), ConfigError);
}

TEST(MathExtraction, WhatFollowsTheThinkingDecides) {
  EXPECT_EQ(answer("<think>\\boxed{1}</think> \\boxed{2}"), "2");
  EXPECT_EQ(answer("<think>\\boxed{1}</think> The answer is 2."), "2");
  EXPECT_EQ(answer("\\boxed{1}</think> so 2"), "2");
  EXPECT_EQ(answer("<think>\\boxed{1}</think>"), "1");
  EXPECT_EQ(answer("<think>\\boxed{1} and 7"), "1");
  EXPECT_EQ(answer("<think>perhaps 7"), "nothing");
}

TEST(MathExtraction, AnOpenBoxIsNoAnswer) {
  EXPECT_EQ(answer("\\boxed{42"), "nothing");
  EXPECT_EQ(answer("It is 41. \\boxed{42"), "nothing");
}

TEST(MathExtraction, GoldAnswersStandBareOrInASolution) {
  EXPECT_EQ(find_gold_answer("  42 "), "42");
  EXPECT_EQ(find_gold_answer("$x=2$, so $\\boxed{12}$."), "12");
  EXPECT_EQ(find_gold_answer("48 + 24 = 72\n#### 72"), "72");
  EXPECT_EQ(find_gold_answer("<think>1</think><answer>2</answer>"), "2");
}

TEST(MathExtraction, IsLinearInHostileTexts) {
  for (const char* part : {"\\(", "\\[", "$", "$$", "\\boxed{", "<answer>", "</answer>", "answer is",
                           "<think>", "{", "\\", ".", "1", "\\boxed", "\\$"}) {
    std::string text;
    while (text.size() < 1'000'000) text += part;
    answer(text);
    answer(text + " 1");
  }
}

}  // namespace
}  // namespace cohort::math
