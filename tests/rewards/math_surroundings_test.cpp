// Whole completions, with what stands around an answer: signs that touch its box, and words that deny it,
// take it back or offer another. The scores are by what the text says.
#include <gtest/gtest.h>

#include "tests/rewards/test_rows.h"

namespace cohort {
namespace {

std::string accuracy(const std::string& gold, const std::string& completion) {
  return brief(
      make_reward({.name = "accuracy"})->score(make_prompt({{"answer", gold}}), make_completion(completion)));
}

void expect_all(const std::string& gold, const std::string& expected,
                const std::vector<std::string>& completions) {
  for (const std::string& completion : completions)
    EXPECT_EQ(accuracy(gold, completion), expected) << gold << " | " << completion;
}

TEST(MathSurroundings, SignsThatTouchABoxBelongToTheAnswer) {
  expect_all("3", "0 ok",
             {"\\frac{1}{\\boxed{3}}",
              "\\sqrt{\\boxed{3}}",
              "\\boxed{3}^2",
              "\\boxed{3}i",
              "\\boxed{3}\\pi",
              "\\boxed{3}x",
              "2\\boxed{3}",
              "x=\\pm\\boxed{3}",
              "1-\\boxed{3}",
              "\\boxed{2}+\\boxed{3}",
              "\\boxed{2}\\boxed{3}",
              "So $x = 2 \\cdot \\boxed{3}$.",
              "$\\frac{\\boxed{3}}{4}$",
              "$10^{\\boxed{3}}$",
              "$x = \\left(\\boxed{3}\\right)^2$",
              "$\\log \\boxed{3}$",
              "$\\boxed{3}!$",
              "$\\boxed{3} + x$",
              "\\boxed{3}/4",
              "It is \\boxed{3}π.",
              "$\\boxed{3} - \\text{tax}$",
              "\\boxed{3}+",
              "$2(\\boxed{3})$",
              "\\boxed{3} × 5",
              "$\\sin(\\boxed{3})$",
              "$|x| > \\boxed{3}$",
              "\\boxed{3}.5",
              "$\\boxed{3} 5$",
              "\\boxed{3} million",
              "\\boxed{3}:4"});
  expect_all("5", "0 ok", {"\\boxed{5}\\times10^3", "$x\\le\\boxed{5}$", "$\\boxed{5} < x$"});
  EXPECT_EQ(accuracy("25", "\\boxed{25}\\%"), "1 ok");
  EXPECT_EQ(accuracy("25\\%", "\\boxed{25}\\%"), "1 ok");
  EXPECT_EQ(accuracy("25\\%", "It is \\boxed{25}%."), "1 ok");
  EXPECT_EQ(accuracy("3\\pi", "\\boxed{3}\\pi"), "1 ok");
  EXPECT_EQ(accuracy("\\pm3", "x=\\pm\\boxed{3}"), "1 ok");
  EXPECT_EQ(accuracy("5\\times10^3", "\\boxed{5}\\times10^3"), "1 ok");
  EXPECT_EQ(accuracy("x\\le5", "$x\\le\\boxed{5}$"), "1 ok");
  EXPECT_EQ(accuracy("\\frac13", "\\frac{1}{\\boxed{3}}"), "1 ok");
  EXPECT_EQ(accuracy("1000", "$10^{\\boxed{3}}$"), "1 ok");
  EXPECT_EQ(accuracy("x^2+C", "$\\int 2x\\,dx = \\boxed{x^2} + C$"), "1 ok");
  EXPECT_EQ(accuracy("3000000", "\\boxed{3} million"), "1 ok");
}

TEST(MathSurroundings, WhatStandsBesideABoxAndChangesNothing) {
  expect_all("5", "1 ok",
             {"$x = \\boxed{5}$",
              "\\boxed{5}\\text{ cm}",
              "\\boxed{5} cm",
              "$\\boxed{5} \\text{ cm}^2$",
              "\\boxed{5}cm",
              "$\\boxed{5}\\,\\text{m}$",
              "**\\boxed{5}**",
              "The answer is \\boxed{5}!",
              "- \\boxed{5}",
              "* \\boxed{5}",
              "\\boxed{5}^\\circ",
              "$\\boxed{5}^{\\circ}$",
              "\\boxed{5}°",
              "\\boxed{5}^{\\text{th}}",
              "(\\boxed{5})",
              "$\\left(\\boxed{5}\\right)$",
              "\\boxed{5} (five)",
              "\\boxed{5} - done",
              "The answer - \\boxed{5}",
              "\\boxed{5}-sided",
              "\\boxed{5}/hour",
              "$2+3=\\boxed{5}$",
              "\\[\n2 + 3 = \\boxed{5}\n\\]",
              "\\begin{align*} x &= 2+3 \\\\ &= \\boxed{5} \\end{align*}",
              "\\$\\boxed{5}",
              "$\\boxed{5}",
              "$\\$\\boxed{5}$",
              "{\\Large \\boxed{5}}",
              "\\textbf{\\boxed{5}}",
              "\\textcolor{red}{\\boxed{5}}",
              "$\\therefore \\boxed{5}$",
              "$\\text{Total} = \\boxed{5} \\text{ apples}$",
              "$7^{2} \\equiv \\boxed{5} \\pmod{11}$",
              "$\\boxed{5} \\approx 5.01$",
              "$x \\in \\mathbb{R} \\implies \\boxed{5}$",
              "<answer>\\boxed{5}</answer>",
              "> \\boxed{5}",
              "Step 2. \\boxed{5}",
              "The answer is: $$\\boxed{5}$$",
              "\\(\\boxed{5}\\) apples",
              "Thus Bob has \\boxed{5} more apples.",
              "He jumps \\boxed{5} times.",
              "\\boxed{5}.\n\nLet me know!",
              "$(x, y) = (1, 2)$ and $x + y + 2 = \\boxed{5}$",
              "Answer: $\\boxed{5}$.",
              "| \\boxed{5} |",
              "$\\boxed{5}\\quad\\checkmark$"});
  EXPECT_EQ(accuracy("[2,5]", "$x \\in \\boxed{[2,5]}$"), "1 ok");
  EXPECT_EQ(accuracy("-5", "It is $-\\boxed{5}$"), "1 ok");
}

TEST(MathSurroundings, ABoxThatIsDeniedOrTakenBackIsNoAnswer) {
  expect_all("12", "0 ok",
             {"\\boxed{11} / \\boxed{12}",
              "\\boxed{11} if x>0, \\boxed{12} otherwise",
              "The answer is definitely not \\boxed{12}.",
              "\\boxed{12} is wrong.",
              "\\boxed{12}. Actually, it should be 13.",
              "It isn't $\\boxed{12}$.",
              "$\\boxed{12}$ is not correct.",
              "\\boxed{12}, which is incorrect.",
              "\\boxed{12} (wrong)",
              "I do not think the answer is \\boxed{12}.",
              "It is \\boxed{11} rather than \\boxed{12}.",
              "The answer is anything but \\boxed{12}.",
              "\\boxed{12} at least",
              "\\boxed{12} or more",
              "\\boxed{12} or 13",
              "\\boxed{12} and a half",
              "\\boxed{12} if x is even",
              "\\boxed{12}. I made a mistake. It is 13.",
              "\\boxed{12}. No, 13.",
              "\\boxed{12}\n\nCorrection: 13",
              "$\\boxed{12}$ cannot be right."});
  expect_all(
      "12", "1 ok",
      {"It is not \\boxed{11} but \\boxed{12}.", "\\boxed{11} is wrong. It is \\boxed{12}.",
       "It is not hard to see that the answer is \\boxed{12}.", "\\boxed{12}, not 13.",
       "\\boxed{12}. Actually, this is well known.", "\\boxed{12}\n\nWait, let me check: 3 * 4 = 12. Yes.",
       "$n$ is not prime, so the answer is \\boxed{12}.", "\\boxed{12} or, as a fraction, $\\frac{24}{2}$."});
}

TEST(MathSurroundings, WordsBehindAnAnnouncedAnswerThatChangeIt) {
  for (const char* behind : {" at least.",
                             " at most.",
                             " minimum.",
                             " and up.",
                             " and above.",
                             " as well as 13.",
                             " which could also be 13.",
                             ", which might be 13.",
                             ", which is wrong.",
                             ", which is incorrect.",
                             " (wrong).",
                             ", so 13 and 14 are too.",
                             " so 13 and 14 are too.",
                             " multiplied by x.",
                             " plus tax.",
                             " plus a constant.",
                             " minus the cost.",
                             " and a half.",
                             " and one half.",
                             " and a quarter.",
                             " and three quarters.",
                             " and a half hours.",
                             ". It could also be 13.",
                             ". Alternatively, 13.",
                             ". Hmm, actually it is 13.",
                             "... no, 13.",
                             " - no wait, 13.",
                             ". Correction: 13.",
                             ". Sorry, I meant 13.",
                             ". I take that back; it is 13.",
                             "+",
                             " or more."}) {
    EXPECT_EQ(accuracy("12", str("The answer is 12", behind)), "0 ok") << behind;
  }
  EXPECT_EQ(accuracy("13", "The answer is 12. Correction: 13."), "1 ok");
  EXPECT_EQ(accuracy("13", "The answer is 12. Hmm, actually it is 13."), "1 ok");
  expect_all("18", "0 ok", {"#### 18 at least", "#### 18 at most", "#### 18+", "#### 18 at least\nDone."});
  expect_all(
      "12", "1 ok",
      {"The answer is 12.", "The answer is 12, which is not prime.", "The answer is 12 and we are done.",
       "The answer is 12, so x = 12.", "The answer is 12, since x = -2 is extraneous.",
       "The answer is 12.\n\nAlternatively, we could count: 5 + 7 = 12.",
       "The answer is 12, which may be written as $\\frac{24}{2}$.",
       "The answer is 12 because 13 is also odd.", "The answer is 12. No further steps are needed.",
       "The answer is 12. Actually, this is well known.", "The answer is 12, so 13 is too large.",
       "#### 12 apples", "The answer is 12, not 13.", "The answer is twelve (12).", "Ans: 12", "ANS: 12.",
       "The answer is 12. It may help to draw this."});
}

TEST(MathSurroundings, WordsBehindAMarkedValueThatChangeIt) {
  expect_all(
      "12", "0 ok",
      {"<answer>12 is wrong</answer>", "<answer>12 minimum</answer>", "<answer>12 at least</answer>",
       "<answer>12 (wrong)</answer>", "#### 12 is wrong", "#### 12 minimum", "<answer>12 plus tax</answer>"});
  expect_all("12", "1 ok", {"<answer>12 apples</answer>", "<answer>12</answer>", "#### 12 apples"});
  EXPECT_EQ(accuracy("7, 8", "<answer>7 and 8</answer>"), "1 ok");
}

TEST(MathSurroundings, WordsBeforeAnAnnouncedAnswerThatDenyIt) {
  expect_all(
      "12", "0 ok",
      {"It is incorrect that the answer is 12.", "It's false that the answer is 12.",
       "It's wrong to say the answer is 12.", "Nobody believes the answer is 12.",
       "The first answer is 11 and the second answer is 12.", "One answer is 11. Another answer is 12.",
       "A student claims the answer is 12, which is wrong.", "The wrong answer is 12."});
  expect_all("5", "0 ok",
             {"The answer is anything but 5.", "The answer is all but 5.", "It is anything but 5.",
              "The answer is everything but 5."});
  expect_all("5", "1 ok", {"The answer is not 4 but 5.", "It is wrong to add. The answer is 5.", "It is 5."});
}

TEST(MathSurroundings, CalculationsOfACalculatorAreNoText) {
  EXPECT_EQ(accuracy("12", "So the total is 5 + 7 = <<5+7=12>>12 apples."), "1 ok");
  EXPECT_EQ(accuracy("18", "#### 9*2 = <<9*2=18>>18"), "1 ok");
  EXPECT_EQ(accuracy("She has 5 + 7 = <<5+7=12>>12.\n#### 12", "12"), "1 ok");
  EXPECT_EQ(accuracy("12", "So the total is 5 + 7 = <<5+7=12>>13 apples."), "0 ok");
}

TEST(MathSurroundings, AGoldSentenceSaysItsValue) {
  EXPECT_EQ(accuracy("Adding gives 5.", "\\boxed{5}"), "1 ok");
  EXPECT_EQ(accuracy("Adding gives 5.", "\\boxed{6}"), "0 ok");
  EXPECT_EQ(accuracy("It is either 5 or maybe not 6.", "\\boxed{6}").substr(2), "unparsed");
}

TEST(MathSurroundings, AChoiceThatIsDeniedIsNone) {
  expect_all(
      "B", "0 ok",
      {"<answer>(B) is wrong</answer>", "<answer>(B) is not correct</answer>", "<answer>B. no, C</answer>",
       "<answer>B: no, C</answer>", "<answer>(B) C</answer>", "<answer>B. C</answer>"});
  expect_all("B", "1 ok",
             {"<answer>(B) is correct</answer>", "<answer>B. no</answer>", "<answer>(B) B</answer>",
              "<answer>(B) none of the others</answer>"});
  EXPECT_EQ(accuracy("(B) C", "<answer>(B) C</answer>"), "1 ok");
  EXPECT_EQ(accuracy("(B) 12", "<answer>(B) \\int x</answer>"), "0 ok");
  const auto choice = [](const std::string& text) {
    return brief(
        make_reward({.name = "choice"})->score(make_prompt({{"answer", "B"}}), make_completion(text)));
  };
  for (const char* text : {"(B) is wrong", "(B) is not correct", "B. no, C", "B isn't right", "(B) C"})
    EXPECT_EQ(choice(text), "0 ok") << text;
  EXPECT_EQ(choice("(B) is correct"), "1 ok");
}

TEST(MathSurroundings, AnswersAsModelsWriteThemStayRead) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"5", "So the answer is $\\boxed{5}$ apples and bananas."},
      {"5", "The final answer is: $\\boxed{5}$. I hope it is correct."},
      {"\\frac{3}{4}", "\\[\n\\boxed{\\frac{3}{4}}\n\\]\n\nThis is not the same as 2."},
      {"7", "Let's see. $a+b = \\boxed{7}$, which is not even."},
      {"(3,4)", "The point is $\\boxed{(3,4)}$."},
      {"12", "### Answer\n\\[ \\boxed{12 \\text{ cm}} \\]"},
      {"2", "\\begin{align*}\nx^2&=4\\\\\n\\Rightarrow x&=\\boxed{2}.\n\\end{align*}"},
      {"2", "Since $x>0$, we have $x \\neq -2$, so $x=\\boxed{2}$."},
      {"2", "so $\\boxed{2}$ is the answer, not $-2$."},
      {"45", "$\\angle ABC = \\boxed{45}^\\circ$"},
      {"45^\\circ", "$\\angle ABC = \\boxed{45^\\circ}$"},
      {"10", "The total cost is $\\$\\boxed{10}$."},
      {"10", "The total is \\$\\boxed{10}."},
      {"3", "There are $\\boxed{3}$ solutions to the equation."},
      {"3", "Thus $n=3$ works. The smallest is \\boxed{3} (since 2 does not work)."},
      {"5", "$$x = \\frac{10}{2} = \\boxed{5}$$"},
      {"y=2x", "$\\boxed{y = 2x}$"},
      {"6", "1. \\boxed{6}"},
      {"D", "The answer is $\\boxed{\\textbf{(D)}\\ 12}$."},
      {"D", "\\boxed{D} is correct."},
      {"1", "$7^{4} \\equiv \\boxed{1} \\pmod 5$"},
      {"70", "$5 \\times 14 = \\boxed{70}\\,\\text{m}^2$"},
      {"20", "She has 12 + 8 = \\boxed{20} dollars left, so that's the answer!"},
      {"20", "The answer is 20. I was wondering if there are 3 more."},
      {"20", "The answer is 20."},
      {"4", "$\\left\\lfloor \\sqrt{17} \\right\\rfloor = \\boxed{4}$"},
      {"3", "$\\log_2 8 = \\boxed{3}$ and this is correct."},
      {"0", "$\\lim_{x\\to\\infty} \\frac1x = \\boxed{0}$"},
      {"2/3", "$P = \\boxed{\\dfrac{2}{3}}\\approx 0.667$"},
      {"9", "So we get 9 as the answer: \\boxed{9}\n\nIf you have any questions, ask."},
      {"9", "$\\therefore$ $\\boxed{9}$ cannot be exceeded."},
  };
  for (const auto& [gold, completion] : rows) EXPECT_EQ(accuracy(gold, completion), "1 ok") << completion;
}

}  // namespace
}  // namespace cohort
