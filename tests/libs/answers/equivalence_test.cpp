// The mathematics verifier beyond the golden pairs: what answers are read as, what stays open, limits,
// hostile texts, threads.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "libs/answers/comparison.h"
#include "libs/answers/internal/parser.h"
#include "libs/answers/internal/units.h"
#include "libs/answers/internal/words.h"

namespace cohort::answers {
namespace {

std::string outcome(const std::string& gold, const std::string& answer) {
  constexpr const char* kNames[] = {"equal", "unequal", "undecided"};
  return kNames[static_cast<int>(judge(gold, answer).verdict.outcome)];
}

std::string repeat(const std::string& text, int count) {
  std::string result;
  for (int i = 0; i < count; ++i) result += text;
  return result;
}

TEST(MathParser, ReadsPrecedence) {
  EXPECT_EQ(describe_answer("1+2*3"), "add(1, multiply(2, 3))");
  EXPECT_EQ(describe_answer("-2^2"), "negate(power(2, 2))");
  EXPECT_EQ(describe_answer("2^3^4"), "power(2, power(3, 4))");
  EXPECT_EQ(describe_answer("1/2x"), "multiply(divide(1, 2), x)");
  EXPECT_EQ(describe_answer("\\frac12x"), "multiply(divide(1, 2), x)");
  EXPECT_EQ(describe_answer("3\\frac12"), "add(3, divide(1, 2))");
  EXPECT_EQ(describe_answer("3\\frac72"), "multiply(3, divide(7, 2))");
  EXPECT_EQ(describe_answer("\\sin^2 2x\\cos x"), "multiply(power(sin(multiply(2, x)), 2), cos(x))");
  EXPECT_EQ(describe_answer("\\log_28"), "log(8, 2)");
  EXPECT_EQ(describe_answer("x_1'"), "x_1'");
}

TEST(MathParser, ReadsStructures) {
  EXPECT_EQ(describe_answer("(1,2]"), "tuple (](1, 2)");
  EXPECT_EQ(describe_answer("]1,2["), "tuple ()(1, 2)");
  EXPECT_EQ(describe_answer("\\{x \\mid |x|<2\\}"), "such that(relation <(abs(x), 2))");
  EXPECT_EQ(describe_answer("x=\\pm 1"),
            "list plus-minus(relation =(x, add(0, 1)), relation =(x, add(0, negate(1))))");
  EXPECT_EQ(describe_answer("1,234"), "1234");
  EXPECT_EQ(describe_answer("(1,234)"), "tuple ()(1, 234)");
  EXPECT_EQ(describe_answer("5\\text{ m}^2"), "multiply(5, power(unit m, 2))");
  EXPECT_EQ(describe_answer("5 km/h"), "divide(multiply(5, unit km), unit h)");
  EXPECT_EQ(describe_answer("20^\\circ C"), "multiply(20, unit degree C)");
  EXPECT_EQ(describe_answer("\\text{Tuesday}."), "words \"tuesday\"");
  EXPECT_EQ(describe_answer("1011_2"), "11");
  EXPECT_EQ(describe_answer("\\lfloor x\\rfloor"), "floor(x)");
}

TEST(MathParser, NamesWhatItCannotRead) {
  EXPECT_EQ(describe_answer("2+"), "not read: a value is missing at the end");
  EXPECT_EQ(describe_answer("(1"), "not read: a bracket is not closed at the end");
  EXPECT_EQ(describe_answer("4 2"), "not read: unexpected text before \"2\"");
  EXPECT_EQ(describe_answer("\\int x"), "not read: \\int is beyond this verifier");
  EXPECT_EQ(describe_answer("\\nonsense"), "not read: unknown command \"nonsense\"");
  for (const char* text : {"",
                           "{",
                           "}",
                           "(",
                           ")",
                           "\\{1",
                           "|x",
                           "\\frac{1}",
                           "\\frac",
                           "\\sqrt",
                           "\\sqrt[3",
                           "^2",
                           "x^",
                           "x_",
                           "\\text{",
                           "\\begin{pmatrix}1",
                           "\\begin{cases}1\\end{cases}",
                           "\\begin{pmatrix}\\end{pmatrix}",
                           "\\end{pmatrix}",
                           "1 &",
                           "x \\in",
                           "\\log_",
                           "\\binom{2}",
                           "{2 \\choose",
                           "9_8",
                           "9_1",
                           "(1]",
                           "[1)",
                           "\\overline",
                           "\\mathbb",
                           "=",
                           "5=",
                           "1,,",
                           "\\sin",
                           "\\sin(1,2)",
                           "\\sin_2 x",
                           "\\lfloor 1",
                           "5 really very extremely unbelievably long words here"}) {
    EXPECT_EQ(describe_answer(text).substr(0, 8), "not read") << text << ": " << describe_answer(text);
  }
}

TEST(MathJudge, DecidesWhatSpellingsMean) {
  EXPECT_EQ(outcome("y = \\frac{1}{2}x + 3", "2y = x + 6"), "equal");
  EXPECT_EQ(outcome("x + y < 1", "2 > 2x + 2y"), "equal");
  EXPECT_EQ(outcome("x + y < 1", "x + y \\le 1"), "unequal");
  EXPECT_EQ(outcome("x + y < 1", "-x - y < -1"), "unequal");
  EXPECT_EQ(outcome("90^\\circ", "\\frac{\\pi}{2}"), "equal");
  EXPECT_EQ(outcome("\\frac{\\pi}{2}\\text{ radians}", "\\frac{\\pi}{2}"), "equal");
  EXPECT_EQ(outcome("5 \\text{ cm}", "5 \\text{ kg}"), "unequal");
  EXPECT_EQ(outcome("\\log_{10} 5", "\\log 5"), "equal");
  EXPECT_EQ(outcome("\\ln 5", "\\log 5"), "equal");
  EXPECT_EQ(outcome("\\ln 5", "\\log 6"), "unequal");
  EXPECT_EQ(outcome("all real numbers", "(-\\infty,\\infty)"), "equal");
  EXPECT_EQ(outcome("\\{5\\}", "5"), "equal");
  EXPECT_EQ(outcome("\\lfloor 2.5 \\rfloor", "2"), "equal");
  EXPECT_EQ(outcome("\\lceil \\pi \\rceil", "4"), "equal");
  EXPECT_EQ(outcome("5 \\div 0", "5"), "unequal");
  EXPECT_EQ(outcome("1, 1, 2", "1, 2"), "unequal");
  EXPECT_EQ(outcome("\\text{yes}", "7"), "unequal");
}

TEST(MathJudge, ReadsWordsBehindNumbers) {
  EXPECT_EQ(outcome("5", "5 \\text{ squared}"), "undecided");
  EXPECT_EQ(outcome("5", "5 \\text{ hundredths}"), "unequal");
  EXPECT_EQ(outcome("5000000", "5 \\text{ hundred thousand}"), "unequal");
  EXPECT_EQ(outcome("500000", "5 \\text{ hundred thousand dollars}"), "equal");
  EXPECT_EQ(outcome("24\\pi\\text{ in}^3", "24\\pi\\text{ cubic inches}"), "equal");
  EXPECT_EQ(outcome("5 \\mathrm{~cm}", "0.05\\,\\text{m}"), "equal");
  EXPECT_EQ(outcome("1", "\\text{cm}"), "unequal");
  EXPECT_EQ(outcome("k^2+18km", "18km+k^2"), "equal");
  EXPECT_EQ(outcome("\\text{June 20}", "june 20"), "equal");
  EXPECT_EQ(outcome("11,\\! 111,\\! 100", "11111100"), "equal");
}

TEST(MathJudge, ReadsConditionsOnSets) {
  EXPECT_EQ(outcome("\\mathbb{R}", "x \\in \\mathbb{R}, x \\ne 3"), "unequal");
  EXPECT_EQ(outcome("(-\\infty,3)\\cup(3,\\infty)", "x \\in \\mathbb{R}, x \\ne 3"), "equal");
  EXPECT_EQ(outcome("[0,1)\\cup(1,\\infty)", "x \\ge 0, x \\ne 1"), "equal");
  EXPECT_EQ(outcome("1<x<5", "x>1 \\text{ and } x<5"), "equal");
  EXPECT_EQ(outcome("x<1, x>2", "x>2, x<1"), "equal");
  EXPECT_NE(outcome("(1,5)", "x<1, x<5"), "equal");
}

TEST(MathJudge, TellsNearMissesApart) {
  EXPECT_EQ(outcome("\\sqrt2", "\\sqrt2 + 10^{-100}"), "unequal");
  EXPECT_EQ(outcome("\\sqrt2", "\\sqrt2 + 10^{-1000}"), "unequal");
  EXPECT_EQ(outcome("\\sqrt2", "\\sqrt{2 + 10^{-500}}"), "unequal");
  EXPECT_EQ(outcome("\\sqrt2", "\\sqrt2 + e^{-1000}"), "unequal");
  EXPECT_NE(outcome("\\sqrt2", "\\sqrt2 + 10^{-100000}"), "equal");
  EXPECT_NE(outcome("\\sqrt2", "\\sqrt2 + 10^{-10^{10}}"), "equal");
  EXPECT_EQ(outcome("x", "x + 10^{-300}"), "unequal");
  EXPECT_EQ(outcome("\\sin x", "\\sin x + 10^{-300}"), "unequal");
}

TEST(MathJudge, LeavesOpenWhatItCannotProve) {
  EXPECT_EQ(outcome("9^{9^{9^9}}", "5"), "undecided");
  EXPECT_EQ(outcome("\\int_0^1 x\\,dx", "\\frac12"), "undecided");
  EXPECT_EQ(outcome("\\int_0^1 x\\,dx", "\\int_0^1 x \\, dx"), "equal");
  EXPECT_EQ(outcome("\\sqrt{-x^2-1}", "\\ln(-x^2-1)"), "unequal");
}

std::vector<std::string> hostile_texts() {
  const std::string nines = repeat("9", 900);
  return {"9^9^9^9",
          "9^{9^{9^{9^{9}}}}",
          "99999999999!",
          "100000!",
          "((9!)!)!",
          "1e999999999",
          "1e-999999999",
          nines,
          nines + "^" + nines,
          "2^{" + nines + "}",
          "\\sqrt{" + nines + "}",
          "\\sin(" + nines + ")",
          "\\binom{" + nines + "}{3}",
          "\\binom{10000}{5000}",
          repeat("(", 3000),
          repeat("{", 4000),
          repeat("(", 100) + "1" + repeat(")", 100),
          repeat("-", 4000) + "1",
          repeat("\\sqrt{", 500),
          repeat("\\frac1", 600),
          repeat("2\\frac{", 500),
          repeat("\\text{", 600),
          repeat("\\text{a ", 300) + repeat("}", 300),
          repeat("x^", 1500) + "2",
          repeat("!", 4000),
          "3" + repeat("!", 200),
          repeat("1+", 900) + "1",
          repeat("\\sin x+", 400) + "1",
          repeat("1,", 900) + "1",
          "\\{" + repeat("\\sin 1,", 300) + "1\\}",
          repeat("|", 3000),
          repeat("\\pm 1", 600),
          repeat("(1,2)\\cup", 300) + "(1,2)",
          repeat("[", 2000) + repeat("]", 2000),
          repeat("\\begin{pmatrix}", 250),
          repeat("a_", 2000),
          repeat("$", 4001),
          repeat("\\left(", 700),
          repeat("e^", 1000) + "x",
          std::string("\0\xff\xfe", 3),
          repeat("\xe2\x88\x9a", 1300) + "2",
          repeat("x=", 1000) + "1",
          repeat("1<", 1000) + "2",
          repeat("\\sin", 900) + "x",
          repeat("f(", 1000) + "x" + repeat(")", 1000),
          repeat("f(", 50) + "x" + repeat(")", 50),
          repeat("P(A|", 800),
          repeat("A(1,", 500),
          "(" + repeat("2\\begin{pmatrix}1&2\\end{pmatrix}+", 90) + "1)3\\begin{pmatrix}1&2\\end{pmatrix}",
          repeat("a=", 900) + "1",
          repeat("x_1=1,", 300) + "x_2=2",
          repeat("x=1,y=2,", 250) + "x=1",
          repeat("1 hour ", 500),
          repeat("30^\\circ 15'", 300),
          repeat("1:", 900) + "2",
          repeat("A\\cup ", 900) + "B",
          repeat("|x|+", 400) + "1",
          repeat("\\lfloor", 300) + "n" + repeat("\\rfloor", 300),
          repeat("1 000 ", 600),
          repeat("\\color{a}", 400),
          repeat("0.3\\bar3", 300),
          repeat("\\{1,2,\\ldots,", 200),
          "\\{1,2,\\ldots,999999999\\}",
          "0^{-1}",
          "\\log_1 5",
          "\\sqrt[0]{2}",
          "\\tan 90^\\circ",
          "(-1)!"};
}

TEST(MathJudge, StaysWithinItsLimits) {
  for (const std::string& text : hostile_texts()) {
    const auto begin = std::chrono::steady_clock::now();
    for (const std::string& other : {text, text + "+1", std::string("7"), std::string("\\sin(3)+x")}) {
      EXPECT_EQ(judge(text, other).verdict.outcome, judge(other, text).verdict.outcome) << text.substr(0, 60);
      if (other == "7") {
        EXPECT_NE(outcome(text, other), "equal") << text.substr(0, 60);
      }
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    EXPECT_LT(seconds.count(), 20.0) << text.substr(0, 60);  // a hang, not a figure
  }
}

TEST(MathJudge, IsSymmetricWhereAnElementHasNoValue) {
  const std::string a = "\\{1, 2, \\frac{3}{1-1}\\}", b = "\\{1, \\sqrt{4}, \\frac{5}{x-x}\\}";
  EXPECT_EQ(outcome(a, b), outcome(b, a));
  EXPECT_NE(outcome(a, b), "equal");
}

TEST(MathJudge, RefusesLongAnswers) {
  const Judgement judgement = judge("1", std::string(kMaxAnswerBytes + 1, '1'));
  ASSERT_TRUE(judgement.answer_failure);
  EXPECT_EQ(judgement.answer_failure->kind, ParseFailure::Kind::kTooLarge);
}

TEST(MathJudge, GivesTheSameVerdictsInManyThreads) {
  const std::vector<std::pair<std::string, std::string>> pairs = {
      {"\\sin^2 x", "1-\\cos^2 x"},
      {"\\sqrt{5+2\\sqrt6}", "\\sqrt2+\\sqrt3"},
      {"\\pi", "3.14"},
      {"(1,2)\\cup(2,3)", "(1,3)"},
      {"e^{\\pi\\sqrt{163}}", "262537412640768744"},
      {"9^{9^{9^9}}", "2"},
      {"x^2+y^2=1", "2x^2+2y^2=2"},
      {"\\{1,\\sqrt4\\}", "\\{2,1\\}"}};
  std::vector<std::string> expected;
  for (const auto& [gold, answer] : pairs) expected.push_back(outcome(gold, answer));
  std::vector<std::thread> threads;
  std::vector<int> num_different(4, 0);
  for (int& different : num_different) {
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        for (size_t i = 0; i < pairs.size(); ++i)
          different += outcome(pairs[i].first, pairs[i].second) != expected[i];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(num_different, std::vector<int>(4, 0));
}

TEST(MathUnits, ResolvesNames) {
  EXPECT_EQ(find_unit("square feet").dimension, (Dimension{{"m", 2}}));
  EXPECT_EQ(find_unit("miles per hour").dimension, (Dimension{{"m", 1}, {"s", -1}}));
  EXPECT_EQ(find_unit("mph").factor, find_unit("miles per hour").factor);
  EXPECT_EQ(find_unit("inches").factor, Fraction(127, 5000));
  EXPECT_EQ(find_unit("Apples").dimension, (Dimension{{"apple", 1}}));
  EXPECT_EQ(find_unit("cubic centimeters").factor, Fraction(1, 1000000));
  EXPECT_EQ(find_number_word("Millions"), "1000000");
  EXPECT_FALSE(find_number_word("apple"));
}

TEST(MathWords, TellsWordsFromMathematics) {
  EXPECT_EQ(find_words("\\textbf{No Solution}."), "no solution");
  EXPECT_EQ(find_words("Zürich"), "z\xc3\xbcrich");
  for (const char* text :
       {"xy", "abc", "sin x", "pi", "\\frac{yes}{2}", "5 apples", "", "\\pi", "π", "x and y"}) {
    EXPECT_FALSE(find_words(text)) << text;
  }
  EXPECT_EQ(find_choice("\\textbf{(C)}"), 'C');
  EXPECT_EQ(find_choice("D)."), 'D');
  EXPECT_FALSE(find_choice("AB"));
  EXPECT_FALSE(find_choice("x"));
}

}  // namespace
}  // namespace cohort::answers
