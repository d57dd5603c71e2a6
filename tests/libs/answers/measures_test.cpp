// What stands behind a number: units, what is counted, scales, letters in a text font, halves of the day.
#include <gtest/gtest.h>

#include <algorithm>

#include "libs/answers/comparison.h"
#include "libs/answers/extraction.h"
#include "libs/answers/internal/nouns.h"
#include "libs/answers/internal/number_names.h"
#include "libs/answers/internal/units.h"
#include "libs/answers/internal/word_roles.h"

namespace cohort::answers {
namespace {

struct Pair {
  const char* gold;
  const char* answer;
};

// Both ways, so that who is the gold makes no difference.
void expect_equal(std::initializer_list<Pair> pairs) {
  for (const auto& [gold, answer] : pairs) {
    EXPECT_TRUE(judge(gold, answer).verdict.is_equal()) << gold << " | " << answer;
    EXPECT_TRUE(judge(answer, gold).verdict.is_equal()) << answer << " | " << gold;
  }
}

void expect_different(std::initializer_list<Pair> pairs) {
  for (const auto& [gold, answer] : pairs) {
    EXPECT_FALSE(judge(gold, answer).verdict.is_equal()) << gold << " | " << answer;
    EXPECT_FALSE(judge(answer, gold).verdict.is_equal()) << answer << " | " << gold;
  }
}

/// 1 where a reading of the completion's answer equals the gold answer, else 0.
double score(const std::string& gold, const std::string& completion) {
  const std::vector<std::string> readings = find_answer(completion, default_places()).readings();
  return std::any_of(readings.begin(), readings.end(), [&](const std::string& reading) {
    return judge_choice(find_gold_answer(gold), reading).verdict.is_equal();
  });
}

TEST(MathMeasures, LettersInATextFontAreVariables) {
  expect_different({{"7", "4\\mathrm{k}+3"},
                    {"3", "2\\mathrm{n}+1"},
                    {"5", "2\\mathrm{x}+3\\mathrm{y}"},
                    {"5", "5\\text{x}"},
                    {"\\frac32", "\\frac{3\\mathrm{a}}{2}"},
                    {"2", "2\\mathrm{R}"},
                    {"\\sin 2", "\\sin 2\\mathrm{x}"},
                    {"x=2", "x=2\\mathrm{t}"},
                    {"3", "3\\mathrm{ab}"},
                    {"3", "3\\text{ABC}"},
                    {"1", "\\frac{2\\mathrm{x}}{2\\mathrm{y}}"},
                    {"5", "2\\mathrm{m}+3"},
                    {"3", "3nm"}});
  expect_equal({{"4k+3", "4\\mathrm{k}+3"},
                {"2R", "2\\mathrm{R}"},
                {"\\sin 2x", "\\sin 2\\mathrm{x}"},
                {"3ab", "3\\mathrm{ab}"},
                {"2m+3", "2\\mathrm{m}+3"},
                {"3nm", "3mn"},
                {"V=20\\text{ V}", "20\\text{ V}"},
                {"5", "5\\text{ cat}"},
                {"5", "5\\text{ men}"},
                {"5", "5\\text{th}"},
                {"\\mathrm{f}(a+b)", "f(b+a)"}});
}

TEST(MathMeasures, WordsThatCountNothingAreNoUnits) {
  for (const char* words : {"is wrong",
                            "is not the answer",
                            "maybe",
                            "perhaps",
                            "at least",
                            "at most",
                            "does not work",
                            "fails",
                            "excluded",
                            "otherwise",
                            "too few",
                            "repeating",
                            "doubled",
                            "less",
                            "more",
                            "more than six",
                            "more or less",
                            "plus tax",
                            "or so",
                            "probably",
                            "in binary",
                            "cm is wrong",
                            "or twelve",
                            "apples or six",
                            "apples and six",
                            "and up",
                            "and counting",
                            "probably right",
                            "rejected values",
                            "dollars per not",
                            "to six",
                            "am pm",
                            "squared",
                            "apples + 1",
                            "apples below zero"}) {
    const std::string answer = std::string("12\\text{ ") + words + "}";
    EXPECT_FALSE(judge("12", answer).verdict.is_equal()) << words;
  }
  for (const char* words : {"students",
                            "gallons of water",
                            "students in the class",
                            "of them",
                            "ways to arrange",
                            "different ways",
                            "square tiles",
                            "points",
                            "apples left",
                            "years old",
                            "each",
                            "in total",
                            "dollars per student",
                            "ordered pairs",
                            "hours of work",
                            "blue and red balls",
                            "cu. in.",
                            "beats/minute",
                            "cans",
                            "more apples",
                            "fewer red balls",
                            "buildings",
                            "seeds"}) {
    const std::string answer = std::string("12\\text{ ") + words + "}";
    EXPECT_TRUE(judge("12", answer).verdict.is_equal()) << words;
  }
  expect_equal({{"12\\text{ years}", "12\\text{ years old}"}, {"3:2", "3\\text{ boys}:2\\text{ girls}"}});
  expect_different({{"5", "3\\text{ apples}+2\\text{ apples}"}});
}

TEST(MathMeasures, DoubtsAndDenialsInMarksAreNoUnits) {
  for (const char* completion : {"<answer>12 is not the answer</answer>", "<answer>12 maybe</answer>",
                                 "#### 12 is wrong", "#### 12 less", "The answer is 12 per mille.",
                                 "The answer is 12 plus tax.", "The answer is 12 minus tax."})
    EXPECT_EQ(score("12", completion), 0.0) << completion;
  for (const char* completion :
       {"<answer>12 apples</answer>", "#### 12 apples", "#### 12 dollars", "The answer is 12 apples."})
    EXPECT_EQ(score("12", completion), 1.0) << completion;
  EXPECT_EQ(score("0.12", "The answer is 12 per cent."), 1.0);
}

TEST(MathMeasures, ScalesCount) {
  expect_different({{"18", "18\\text{k}"},
                    {"18", "18\\text{K}"},
                    {"18", "18\\text{M}"},
                    {"2", "2\\text{ crore}"},
                    {"2", "2\\text{ lakh}"},
                    {"2", "2\\text{ gross}"},
                    {"2", "2\\text{ score}"},
                    {"2", "2\\text{ bn}"}});
  expect_equal({{"20000000", "2\\text{ crore}"},
                {"200000", "2\\text{ lakh}"},
                {"288", "2\\text{ gross}"},
                {"40", "2\\text{ score}"},
                {"2", "2\\text{ scores}"},
                {"2000000000", "2\\text{ bn}"}});
}

TEST(MathMeasures, UnitsUnderRootsAndBarsAndInSumsStay) {
  expect_different({{"\\sqrt{25\\text{ cm}^2}", "5\\text{ m}"},
                    {"\\sqrt[3]{8\\text{ cm}^3}", "2\\text{ m}"},
                    {"\\sqrt{25\\text{ cm}}", "5\\text{ cm}"},
                    {"(25\\text{ cm}^2)^{1/2}", "5\\text{ m}"},
                    {"|5\\text{ cm}|", "5\\text{ m}"},
                    {"\\lfloor 5.5\\text{ cm}\\rfloor", "5\\text{ m}"},
                    {"2+3\\text{ m}", "5\\text{ kg}"},
                    {"2\\text{ m}+3", "5"},
                    {"2\\text{ m}+3\\text{ kg}", "5"},
                    {"2\\text{ m}+3\\text{ kg}", "5\\text{ m}"},
                    {"2\\text{ m}+3\\text{ kg}", "3\\text{ m}+2\\text{ kg}"}});
  expect_equal({{"\\sqrt{25\\text{ cm}^2}", "5\\text{ cm}"},
                {"\\sqrt{25\\text{ cm}^2}", "0.05\\text{ m}"},
                {"\\sqrt[3]{8\\text{ cm}^3}", "2\\text{ cm}"},
                {"\\sqrt{25\\text{ cm}^2}", "5"},
                {"(25\\text{ cm}^2)^{1/2}", "5\\text{ cm}"},
                {"|-5\\text{ cm}|", "5\\text{ cm}"},
                {"2+3\\text{ m}", "5\\text{ m}"},
                {"2\\text{ m}+3\\text{ kg}", "3\\text{ kg}+2\\text{ m}"},
                {"x+90^\\circ", "90^\\circ+x"}});
}

TEST(MathMeasures, HoursWithTheHalfOfTheirDay) {
  expect_equal({{"9:00\\text{ AM}", "9\\text{ AM}"},
                {"9\\text{ AM}", "9\\text{ a.m.}"},
                {"9\\text{ AM}", "9 a.m."},
                {"9\\text{ AM}", "9AM"},
                {"9 am", "9:00 am"},
                {"12:00\\text{ noon}", "12:00"},
                {"12\\text{ noon}", "12\\text{ p.m.}"},
                {"12:00\\text{ midnight}", "0:00"},
                {"9", "9\\text{ AM}"},
                {"9\\text{ o'clock}", "9:00"},
                {"15", "3\\text{ PM}"},
                {"9 am, 5 pm", "9:00\\text{ AM}, 5:00\\text{ PM}"}});
  expect_different({{"9\\text{ AM}", "9\\text{ PM}"},
                    {"12:00\\text{ noon}", "12:00\\text{ midnight}"},
                    {"9", "8\\text{ AM}"},
                    {"13", "13\\text{ AM}"},
                    {"9.5", "9\\text{ AM}"},
                    {"9", "9:30"},
                    {"9am", "9"}});
  for (const char* words : {"9 a.m.", "9 am.", "9 AM", "9 A.M.", "9:00 a.m.", "9 o'clock"}) {
    EXPECT_EQ(score("9 AM", std::string("The train arrives at ") + words), 1.0) << words;
    EXPECT_EQ(score("9 AM", std::string("The answer is ") + words), 1.0) << words;
  }
  for (const char* words : {"9 p.m.", "9 pm.", "9 PM", "9 P.M.", "9:00 p.m."}) {
    EXPECT_EQ(score("9 AM", std::string("The train arrives at ") + words), 0.0) << words;
    EXPECT_EQ(score("9 AM", std::string("The answer is ") + words), 0.0) << words;
  }
}

TEST(MathMeasures, OneAndManyHaveOneName) {
  expect_equal({{"5\\text{ boxes}", "5\\text{ box}"},
                {"5\\text{ cities}", "5\\text{ city}"},
                {"5\\text{ children}", "5\\text{ child}"},
                {"5\\text{ houses}", "5\\text{ house}"},
                {"5\\text{ glasses}", "5\\text{ glass}"},
                {"5\\text{ persons}", "5\\text{ people}"},
                {"5\\text{ inches}", "5\\text{ inch}"}});
  expect_different({{"5\\text{ boxes}", "5\\text{ foxes}"}, {"5\\text{ plans}", "5\\text{ planes}"}});
  EXPECT_TRUE(is_arithmetic_word("plus"));
  EXPECT_TRUE(is_arithmetic_word("minus"));
  EXPECT_TRUE(is_arithmetic_word("halves"));
  EXPECT_EQ(word_role("plus"), WordRole::kHedge);
}

TEST(MathMeasures, MoreUnits) {
  expect_equal({{"1\\text{ hectare}", "10000\\text{ m}^2"},
                {"640\\text{ acres}", "1\\text{ square mile}"},
                {"1000\\text{ nm}", "1\\ \\mu\\text{m}"},
                {"30\\text{ mpg}", "30\\text{ miles per gallon}"},
                {"1\\text{ decade}", "10\\text{ years}"},
                {"2\\text{ centuries}", "200\\text{ years}"},
                {"1\\text{ GB}", "1000\\text{ MB}"},
                {"18", "18\\ \\Omega"},
                {"18\\text{ ohms}", "18\\Omega"},
                {"18", "18 Ω"},
                {"18", "18\\ \\mu m"},
                {"18", "18 μm"},
                {"18", "18\\mu\\mathrm{ m}"},
                {"18", "\\text{Rs. }18"},
                {"18\\text{ rupees}", "\\text{Rs }18"},
                {"12\\text{ cm}^2", "12\\text{ cm squared}"},
                {"12\\text{ cubic meters}", "12\\text{ meters cubed}"}});
  expect_different({{"18", "18\\mu m"},
                    {"18\\text{ ohms}", "18\\text{ volts}"},
                    {"18", "\\Omega+18"},
                    {"12\\text{ cm}", "12\\text{ cm squared}"},
                    {"1\\text{ acre}", "1\\text{ hectare}"}});
}

TEST(MathMeasures, NumbersAreNamedAgain) {
  expect_equal({{"18", "18\\text{ (eighteen)}"},
                {"42", "42\\text{ (forty-two)}"},
                {"105", "105 (one hundred and five)"}});
  expect_different(
      {{"18", "18\\text{ (nineteen)}"}, {"324", "18\\text{ (eighteen)}"}, {"18", "18\\text{ (wrong)}"}});
  EXPECT_EQ(read_number_name("zero"), 0);
  EXPECT_EQ(read_number_name("nine hundred ninety-nine thousand and seventeen"), 999017);
  EXPECT_EQ(read_number_name("two million three hundred"), 2000300);
  for (const char* words : {"", "and", "one two", "twenty eleven", "hundred", "five and", "three apples",
                            "thousand", "one thousand one thousand", "twenty zero", "twenty thirty"})
    EXPECT_FALSE(read_number_name(words)) << words;
}

TEST(MathMeasures, MoreCommands) {
  expect_equal({{"x\\ge 2", "x \\geqq 2"},
                {"x\\le 2", "x \\leqq 2"},
                {"x\\in\\mathbb{R}", "x\\in\\Bbb{R}"},
                {"x=2", "\\therefore x=2"},
                {"2\\sqrt3", "2\\surd 3"},
                {"x\\ne 2", "x\\not=2"},
                {"x\\ne 2", "x \\not = 2"},
                {"\\mathbb{R}", "\\mathbf{R}"},
                {"\\mathbb{Z}", "\\mathbf{Z}"},
                {"x\\in\\mathbb{R}", "x\\in\\mathbf{R}"},
                {"\\mathbf{A}", "A"},
                {"2R", "2\\mathbf{R}"}});
  expect_different({{"x=2", "x\\not=2"}});
}

}  // namespace
}  // namespace cohort::answers
