// Where the verifier finds the answer in a completion and in a gold column, and what it refuses to take for
// one.
#include "libs/answers/extraction.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace cohort::answers {
namespace {

std::string answer(std::string_view completion, const std::vector<std::string>& places = {}) {
  const Finding found = find_answer(completion, read_places(places));
  if (found.text) return *found.text;
  return found.refusal.empty() ? "nothing" : "refused";
}

std::string refusal(std::string_view completion) {
  const Finding found = find_answer(completion, default_places());
  return found.text ? "found " + *found.text : found.refusal;
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
  EXPECT_EQ(answer("from $a$ to $b$, until \\[c\\] comes"), "c");
  EXPECT_EQ(answer("so 5 of them, and then -2/3 in all"), "-2/3");
  EXPECT_EQ(answer("rising by 12.5% then"), "12.5%");
  EXPECT_EQ(answer("x^2+1"), "x^2+1");
  EXPECT_EQ(answer("Nothing of use here, really! None at all"), "nothing");
}

TEST(MathExtraction, FollowsTheOrderOfPlaces) {
  const std::string text = "\\boxed{1} <answer>2</answer> the answer is 3 or $4$";
  EXPECT_EQ(answer(text), "2");
  EXPECT_EQ(answer(text, {"boxed", "tag"}), "1");
  EXPECT_EQ(answer(text, {"phrase"}), "3 or 4");
  EXPECT_EQ(answer("it is 42", {"tag", "boxed"}), "nothing");
  EXPECT_THROW(read_places({"box"}), std::invalid_argument);
}

TEST(MathExtraction, WhatFollowsTheThinkingDecides) {
  EXPECT_EQ(answer("<think>\\boxed{1}</think> \\boxed{2}"), "2");
  EXPECT_EQ(answer("<think>\\boxed{1}</think> The answer is 2."), "2");
  EXPECT_EQ(answer("\\boxed{1}</think> so 2"), "2");
  EXPECT_EQ(answer("<think>\\boxed{1}</think>"), "1");
  EXPECT_EQ(answer("<think>\\boxed{1} and 7"), "1");
  EXPECT_EQ(answer("<think>perhaps 7"), "nothing");
  EXPECT_EQ(answer("<think>\\boxed{1}</think> The answer is between 1 and 3."), "refused");
}

TEST(MathExtraction, AnOpenBoxIsNoAnswer) {
  EXPECT_EQ(answer("\\boxed{42"), "refused");
  EXPECT_EQ(answer("It is 41. \\boxed{42"), "refused");
  EXPECT_EQ(answer("<think><answer>5</answer></think> It is \\boxed{6"), "refused");
  EXPECT_EQ(answer("<answer>5</answer> and \\boxed{6"), "5");
  EXPECT_EQ(answer("<answer>5</answer> and \\boxed{6", {"boxed", "tag"}), "5");
}

TEST(MathExtraction, BoxesThatAreJoinedAreAList) {
  EXPECT_EQ(answer("\\boxed{2} and \\boxed{3}"), "2 and 3");
  EXPECT_EQ(answer("$\\boxed{2}$, $\\boxed{3}$ or $\\boxed{4}$."), "2, 3 or 4");
  EXPECT_EQ(answer("\\boxed{2}. No: \\boxed{3}"), "3");
  EXPECT_EQ(answer("\\boxed{2}\n\n\\boxed{3}"), "3");
  EXPECT_EQ(answer("<answer>\\boxed{2} or \\boxed{3}</answer>"), "2 or 3");
}

TEST(MathExtraction, AMinusThatTouchesABoxCounts) {
  EXPECT_EQ(answer("It is -\\boxed{15}"), "-(15)");
  EXPECT_EQ(answer("$x=-\\boxed{15}$"), "-(15)");
  EXPECT_EQ(answer("-$\\boxed{15}$"), "-(15)");
  EXPECT_EQ(answer("- \\boxed{15}"), "15");
  EXPECT_EQ(answer("as in $20-\\boxed{15}$"), "20-(15)");
}

TEST(MathExtraction, ValuesThatAreJoinedAreAList) {
  EXPECT_EQ(answer("The answer is $7$ or $8$."), "7 or 8");
  EXPECT_EQ(answer("Answer: $7$, $8$, or $9$"), "7, 8 or 9");
  EXPECT_EQ(answer("The answers are 2 cm and 3 cm."), "2 cm and 3 cm");
  EXPECT_EQ(answer("The solutions are $x=2$ and $x=3$."), "x=2 and x=3");
  EXPECT_EQ(answer("So we find 2 or 3"), "2 or 3");
  EXPECT_EQ(answer("x = 5\ny = 6"), "x = 5, y = 6");
  EXPECT_EQ(answer("Answer:\n- $x = 5$\n- $y = 6$\nThat is all."), "x = 5, y = 6");
  EXPECT_EQ(answer("a = 5\nb = a + 1 = 6"), "b = a + 1 = 6");
  EXPECT_EQ(answer("The answer is 0.25 or 25%."), "0.25");
  EXPECT_EQ(answer("The answer is 2 and 2."), "2 and 2");
}

TEST(MathExtraction, RefusesWhatMakesAnotherValueOfIt) {
  EXPECT_EQ(refusal("The answer is between $12$ and $14$."), "the words before a value may change it");
  EXPECT_EQ(refusal("The answer is $12$ less than $20$."), "\"less\" stands behind it");
  EXPECT_EQ(refusal("The answer is 12 less than that."), "\"less\" stands behind it");
  EXPECT_EQ(refusal("The answer is $12$ of $20$."), "another value, $20$, stands beside it");
  EXPECT_EQ(refusal("The answer is not 12."), "a value is denied, and none named");
  EXPECT_EQ(refusal("The answer isn't 12."), "an answer is denied");
  EXPECT_EQ(refusal("The answer is the sum of $2$ and $3$."), "several values are combined");
  EXPECT_EQ(refusal("Either the answer is 7 or the answer is 8."), "the answer is in doubt");
  EXPECT_EQ(refusal("The answer is 7. Or 8."), "another answer follows");
  EXPECT_EQ(refusal("Oh, the answer is 7?"), "the answer is put as a question");
  EXPECT_EQ(refusal("The answer is 7. Oops!"), "the answer is taken back");
  EXPECT_EQ(refusal("It is twice 6."), "\"twice\" stands before it");
  EXPECT_EQ(refusal("It takes 5 apples, or 6 of the others."), "several values are offered");
  EXPECT_EQ(refusal("That makes apples/5"), "the expression is cut");
  EXPECT_EQ(refusal("It is $5$i."), "the expression is cut");
  EXPECT_EQ(refusal("12 is wrong."), "\"wrong\" is said of it");
  EXPECT_EQ(refusal("The answer is 12 isn't right."), "\"isn't\" stands behind it");
  EXPECT_EQ(refusal("I don't think it is 12."), "it is denied");
  EXPECT_EQ(refusal("The chance is 1 in 6."), "a range or a ratio in words");
  EXPECT_EQ(refusal("The ratio is 2 to 3."), "a range or a ratio in words");
  EXPECT_EQ(answer("The answer is 1 in 6."), "refused");
  EXPECT_EQ(answer("We simplify 4/8 to 1/2."), "1/2");
  EXPECT_EQ(refusal("\\boxed{2} or maybe \\boxed{3}"), "several boxes are offered");
  EXPECT_EQ(answer("The answer is C, not D."), "C");
  EXPECT_EQ(answer("The answer is not $12$ but $13$."), "13");
  EXPECT_EQ(answer("It is not hard to see that the answer is 5."), "5");
  EXPECT_EQ(answer("So $x=1$ is no solution and the answer is 5."), "5");
  EXPECT_EQ(answer("The answer is 12. Wait, that is wrong. It is 13."), "13");
}

TEST(MathExtraction, TakesWholeExpressionsOutOfProse) {
  EXPECT_EQ(answer("The result is −5."), "−5");
  EXPECT_EQ(answer("So it is \\frac{1}{2}."), "\\frac{1}{2}");
  EXPECT_EQ(answer("It is 2√3 long"), "2√3");
  EXPECT_EQ(answer("It is 2\\sqrt{3} long"), "2\\sqrt{3}");
  EXPECT_EQ(answer("so we get 10^2"), "10^2");
  EXPECT_EQ(answer("about 5 x 10^6 of them"), "5 \\times  10^6");
  EXPECT_EQ(answer("a chance of 3 / 4"), "3 / 4");
  EXPECT_EQ(answer("the point (1, 2) is it"), "(1, 2)");
  EXPECT_EQ(answer("at 5:30 then"), "5:30");
  EXPECT_EQ(answer("so y = x^2 here"), "y = x^2");
  EXPECT_EQ(answer("an area of 12 cm^2 in all"), "12 cm^2");
  EXPECT_EQ(answer("a 5-year wait, that is 20% then"), "20%");
  EXPECT_EQ(answer("that costs 9*2 = 18 dollars"), " 18 dollars");
  EXPECT_EQ(answer("so H2O it is"), "nothing");
  EXPECT_EQ(answer("<think>x</think> <answer>5"), "5");
}

TEST(MathExtraction, PassesOverWordsAndTailsAroundAnAnswer) {
  for (const char* text :
       {"The answer is 5 because 2+3=5.", "The answer is 5, which is prime.", "The answer is 5 (five).",
        "The answer is therefore 5.", "The answer is clearly 5", "The answer is `5`.", "The answer is \"5\".",
        "Answer: The value of $x$ is $5$.", "So the answer is that $x$ equals $5$", "<answer>**5**</answer>",
        "\\boxed{**5**}", "<answer>The answer is 5</answer>", "\\boxed{5,}", "\\boxed{5;}",
        "\\boxed{5\\text{.}}", "\\boxed{5\\\\}", "The answer is 5; check.", "The answer is 5 for $n = 2$.",
        "The answer is 5 (not 6)."}) {
    EXPECT_EQ(answer(text), "5") << text;
  }
  EXPECT_EQ(answer("Answer:\n- x = 5"), "x = 5");
  EXPECT_EQ(answer("The answer is - 5."), "- 5");
  EXPECT_EQ(answer("The answer is approximately 3.14."), "3.14");
  EXPECT_EQ(answer("The answer is one half, i.e. $\\frac12$."), "\\frac12");
  EXPECT_EQ(answer("<answer>**5** apples</answer>"), "5 apples");
  EXPECT_EQ(answer("The answer is B because 2 is even."), "B");
}

TEST(MathExtraction, AMarkerWinsOverAnEarlierPhrase) {
  EXPECT_EQ(answer("The answer is 12 for one. Then 18.\n#### 18"), "18");
  EXPECT_EQ(answer("Nothing.\n#### \\frac{3}{4}"), "\\frac{3}{4}");
  EXPECT_EQ(answer("#### 18 dollars"), "18 dollars");
  EXPECT_EQ(answer("The answer is 5.\n#### Step 2: check\nIt holds."), "5");
  EXPECT_EQ(answer("#### 18\nSo the answer is 19."), "19");
}

TEST(MathExtraction, DollarsOfMoneyDelimitNoFormula) {
  EXPECT_EQ(answer("The answer is $10 - $3 = $7."), "10 - 3 = 7");
  EXPECT_EQ(answer("She had $10 and spent $3, so she has $7 left."), "$7");
  EXPECT_EQ(answer("It costs $6 a day, and $3 \\times 6 = 18$."), "3 \\times 6 = 18");
  EXPECT_EQ(answer("So $9 \\times 2 = \\$18$."), "9 \\times 2 = \\$18");
  EXPECT_EQ(answer("The answer is \\$18."), "\\$18");
  EXPECT_EQ(answer("They get $1,250 in all."), "$1,250");
}

TEST(MathExtraction, GoldAnswersStandBareOrInASolution) {
  EXPECT_EQ(find_gold_answer("  42 "), "42");
  EXPECT_EQ(find_gold_answer("$x=2$, so $\\boxed{12}$."), "12");
  EXPECT_EQ(find_gold_answer("48 + 24 = 72\n#### 72"), "72");
  EXPECT_EQ(find_gold_answer("<think>1</think><answer>2</answer>"), "2");
}

TEST(MathExtraction, IsLinearInHostileTexts) {
  for (const char* part : {"\\(",
                           "\\[",
                           "$",
                           "$$",
                           "\\boxed{",
                           "<answer>",
                           "</answer>",
                           "answer is",
                           "<think>",
                           "{",
                           "\\",
                           ".",
                           "1",
                           "\\boxed",
                           "\\$",
                           "(",
                           "(1",
                           "- ",
                           "1 - ",
                           "x ",
                           "**",
                           "** ",
                           "$1 ",
                           "$x\n\n",
                           "\\left ",
                           "####",
                           "#### 1\n",
                           "a = 1\n",
                           "1 or ",
                           "is 1, ",
                           "\\boxed{1} and ",
                           "not ",
                           "2\\boxed{1}, ",
                           "{(\\boxed{1}, ",
                           "$\\frac{1}{\\boxed{1}}$ and ",
                           "<<1",
                           "so 1 ",
                           "no, 1. ",
                           "\u2212",
                           "–"}) {
    std::string text;
    while (text.size() < 300'000) text += part;
    answer(text);
    answer(text + " 1");
  }
}

}  // namespace
}  // namespace cohort::answers
