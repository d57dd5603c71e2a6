// What a letter, a sign or a word means where it could mean several things: the readings that the golden
// pairs do not fix, by both texts of a comparison.
#include <gtest/gtest.h>

#include "libs/answers/comparison.h"
#include "libs/answers/internal/letters.h"
#include "libs/answers/internal/nouns.h"
#include "libs/answers/internal/spelling.h"
#include "libs/answers/internal/units.h"

namespace cohort::answers {
namespace {

std::string outcome(const std::string& gold, const std::string& answer) {
  constexpr const char* kNames[] = {"equal", "unequal", "undecided"};
  const std::string forth = kNames[static_cast<int>(judge(gold, answer).verdict.outcome)];
  const std::string back = kNames[static_cast<int>(judge(answer, gold).verdict.outcome)];
  return forth == back ? forth : forth + " and " + back;
}

TEST(MathReadings, LettersAreVariablesWhereEitherTextUsesThemSo) {
  EXPECT_EQ(outcome("10", "10 m"), "equal");
  EXPECT_EQ(outcome("10m", "10 m"), "equal");
  EXPECT_EQ(outcome("5m+5m", "10 m"), "equal");
  EXPECT_EQ(outcome("10", "10m"), "unequal");
  EXPECT_EQ(outcome("10m", "10"), "unequal");
  EXPECT_EQ(outcome("3 m/s", "3\\text{ km/h}"), "unequal");
  EXPECT_EQ(outcome("\\frac12h(a+b)", "\\frac{(a+b)h}{2}"), "equal");
  EXPECT_EQ(outcome("h(a+b)", "ha+hb"), "equal");
  EXPECT_EQ(outcome("f(a+b)", "f(b+a)"), "equal");
  EXPECT_EQ(outcome("f(a+b)", "f(a)+f(b)"), "unequal");
  EXPECT_EQ(outcome("f(2)", "g(2)"), "unequal");
  EXPECT_EQ(outcome("f'(2)", "f(2)"), "unequal");
  EXPECT_EQ(outcome("f(x,y)", "f(y,x)"), "unequal");
}

TEST(MathReadings, SumsOfMeasuresAreOfOneKindAndFall) {
  EXPECT_EQ(describe_answer("3 hours 20 minutes"),
            "add(multiply(3, unit hours), multiply(20, unit minutes))");
  EXPECT_EQ(outcome("1 hour 30 minutes", "90"), "equal");
  EXPECT_EQ(outcome("1 hour 30 minutes", "1.5"), "equal");
  EXPECT_EQ(outcome("1 hour 30 minutes", "31"), "unequal");
  EXPECT_EQ(outcome("1 hour 30 minutes", "x"), "unequal");
  EXPECT_EQ(outcome("45", "30^\\circ 15'"), "unequal");
  EXPECT_EQ(outcome("30.25^\\circ", "30^\\circ 15'"), "equal");
  EXPECT_EQ(outcome("30^\\circ 15' 36''", "30.26^\\circ"), "equal");
  for (const char* text : {"20 minutes 3 hours", "3 hours 20 meters", "3 hours 20", "3 hours 5 hours"})
    EXPECT_EQ(describe_answer(text).substr(0, 8), "not read") << text;
  EXPECT_EQ(outcome("2 m and 3 s", "3 s and 2 m"), "equal");
  EXPECT_EQ(outcome("2 hours and 15 minutes", "135 minutes"), "equal");
}

TEST(MathReadings, TimesAreNoRatiosWhereBothAreTimes) {
  EXPECT_EQ(outcome("3:30 pm", "15:30"), "equal");
  EXPECT_EQ(outcome("3:30 am", "15:30"), "unequal");
  EXPECT_EQ(outcome("12:15 a.m.", "0:15"), "equal");
  EXPECT_EQ(outcome("3:30", "15:30"), "unequal");
  EXPECT_EQ(outcome("1:20:30", "2:41:00"), "unequal");
  EXPECT_EQ(outcome("01:05", "1:05"), "equal");
  EXPECT_EQ(outcome("3:12", "1:4"), "equal");
  EXPECT_EQ(outcome("3:30 pm", "0.1"), "unequal");
  EXPECT_EQ(outcome("06/12/2020", "6/12/2020"), "equal");
  EXPECT_EQ(outcome("x:2x:3x", "1:2:3"), "equal");
  EXPECT_EQ(outcome("1:2:3", "2:4"), "unequal");
  EXPECT_EQ(outcome("0:1:2", "0:2:4"), "unequal");
}

TEST(MathReadings, SignsStandForThemselvesUnlessTheyOpposeEachOther) {
  EXPECT_EQ(outcome("\\pm1\\mp2", "-1,1"), "equal");
  EXPECT_EQ(outcome("\\pm1\\pm2", "-3,-1,1,3"), "equal");
  EXPECT_EQ(outcome("\\{\\pm1,\\pm2\\}", "\\{-2,-1,1,2\\}"), "equal");
  EXPECT_EQ(outcome("x\\neq\\pm2", "x\\neq2"), "unequal");
  EXPECT_EQ(outcome("x\\neq1,2", "(-\\infty,1)\\cup(1,2)\\cup(2,\\infty)"), "equal");
  EXPECT_EQ(outcome("x>\\pm2", "x>-2"), "undecided");
  EXPECT_EQ(outcome("\\pm1\\pm2\\pm3\\pm4\\pm5", "15"), "undecided");
}

TEST(MathReadings, NamedValuesKeepTogether) {
  EXPECT_EQ(outcome("x=1,y=2,x=3,y=4", "x=3,y=4,x=1,y=2"), "equal");
  EXPECT_EQ(outcome("x=1,y=2,x=3,y=4", "x=1,y=4,x=3,y=2"), "unequal");
  EXPECT_EQ(outcome("x=1 and y=2 or x=3 and y=4", "(1,2),(3,4)"), "equal");
  EXPECT_EQ(outcome("x>1 and x<3 or x>5", "(1,3)\\cup(5,\\infty)"), "equal");
  EXPECT_EQ(outcome("y=4, x=3", "(3,4)"), "equal");
  EXPECT_EQ(outcome("q=4, p=3", "(3,4)"), "unequal");
  EXPECT_EQ(outcome("w=4, x=1, y=2, z=3", "(1,2,3,4)"), "equal");
  EXPECT_EQ(outcome("A(1,2)", "B(1,2)"), "unequal");
  EXPECT_EQ(outcome("a=b=2", "a=2,b=2"), "equal");
  EXPECT_EQ(outcome("(3,4)", "(y,x)=(3,4)"), "unequal");
  EXPECT_EQ(outcome("(3,4)", "(m,b)=(3,4)"), "equal");
  EXPECT_EQ(outcome("(3,4)", "(x,y)=(3,4)"), "equal");
  EXPECT_EQ(outcome("(3,4)", "P=(3,4)"), "equal");
}

TEST(MathReadings, AFullStopIsNoDecimalPoint) {
  EXPECT_EQ(outcome("\\frac13.", "\\frac13"), "equal");
  EXPECT_EQ(outcome("\\frac13.", "\\frac23."), "unequal");
  EXPECT_EQ(outcome("3\\frac12.", "3.5"), "equal");
  EXPECT_EQ(outcome("3\\frac12.", "1.5"), "unequal");
  EXPECT_EQ(outcome("0.\\overline{3}.", "\\frac13"), "equal");
  EXPECT_EQ(describe_answer("\\frac.5{2}").substr(0, 8), "not read");
}

TEST(MathReadings, AnEquationHasTheValueOfAQuantityOnly) {
  for (const char* text : {"f(2)=7", "AB=7", "\\angle ABC=7", "|z|=7", "\\sin A=7", "x+y=7", "x-y=7",
                           "P(X>2)=7", "\\text{Area}=7", "7=AB", "S_{10}=7", "\\frac ab=7"})
    EXPECT_EQ(outcome("7", text), "equal") << text;
  EXPECT_EQ(outcome("7", "m=n=7"), "unequal");
  for (const char* text : {"2x=7", "x^2=7", "x+1=7", "\\sqrt{x}=7", "-x=7", "\\ln x=7", "\\sin 2x=7", "x/2=7",
                           "3AB=7", "7=8", "x=y"})
    EXPECT_EQ(outcome("7", text), "unequal") << text;
  EXPECT_EQ(outcome("f(2)=4", "f(3)=4"), "unequal");
  EXPECT_EQ(outcome("y=2x", "f(x)=2x"), "equal");
  EXPECT_EQ(outcome("y=2x", "f(x)=3x"), "unequal");
  EXPECT_EQ(outcome("3=4", "3=5"), "unequal");
  EXPECT_EQ(outcome("3<4", "3<5"), "unequal");
  EXPECT_EQ(outcome("x_1=1,x_2=2", "x_2=1,x_2=2"), "unequal");
  EXPECT_EQ(outcome("x_1=1,x_2=2", "x=2,x=1"), "equal");
}

TEST(MathReadings, TheExactSideCounts) {
  EXPECT_EQ(outcome("\\pi", "\\pi\\approx3"), "equal");
  EXPECT_EQ(outcome("3", "\\pi\\approx3"), "unequal");
  EXPECT_EQ(outcome("3.1", "x\\approx3.1"), "equal");
  EXPECT_EQ(outcome("\\frac14", "\\frac12 (50\\%)"), "unequal");
  EXPECT_EQ(describe_answer("\\frac12 (40\\%)").substr(0, 8), "not read");
  EXPECT_EQ(outcome("\\frac12", "\\frac12 (50\\%)"), "equal");
  EXPECT_EQ(outcome("25", "\\frac12(50)"), "equal");
}

TEST(MathReadings, SetsWithConditions) {
  EXPECT_EQ(outcome("\\{x\\in\\mathbb{Z}\\mid -2<x\\le1\\}", "\\{-1,0,1\\}"), "equal");
  EXPECT_EQ(outcome("\\{x\\in\\mathbb{Z}\\mid 3>x>0\\}", "\\{1,2\\}"), "equal");
  EXPECT_EQ(outcome("\\{x\\in\\mathbb{N}\\mid x<3\\}", "\\{1,2\\}"), "undecided");
  EXPECT_EQ(outcome("\\{2x\\mid x>1\\}", "\\{2x\\mid x>1\\}"), "equal");
  EXPECT_EQ(outcome("\\{2x\\mid x>1\\}", "\\{x+x\\mid 1<x\\}"), "equal");
  EXPECT_EQ(outcome("\\{2x\\mid x>1\\}", "(1,\\infty)"), "undecided");
  EXPECT_EQ(outcome("\\{2,4,\\ldots,10\\}", "\\{2,4,6,8,10\\}"), "equal");
  EXPECT_EQ(describe_answer("\\{1,2,\\ldots\\}").substr(0, 8), "not read");
  EXPECT_EQ(outcome("A\\cup(B\\cap C)", "(A\\cup B)\\cap(A\\cup C)"), "equal");
  EXPECT_EQ(outcome("A\\cup(B\\cap C)", "(A\\cup B)\\cap C"), "unequal");
  EXPECT_EQ(outcome("|x-1|<2", "(-1,3)"), "equal");
  EXPECT_EQ(outcome("|x|>-1", "\\mathbb{R}"), "equal");
  EXPECT_EQ(outcome("x>1, x<5", "(1,5)"), "equal");
  EXPECT_EQ(outcome("x<1, x>5", "(-\\infty,1)\\cup(5,\\infty)"), "equal");
}

TEST(MathReadings, PointsReachBehindKinks) {
  EXPECT_EQ(outcome("|x-70000|", "70000-x"), "unequal");
  EXPECT_EQ(outcome("|x+700|", "x+700"), "unequal");
  EXPECT_EQ(outcome("\\sqrt{(x-7)^2}", "|7-x|"), "equal");
  EXPECT_EQ(outcome("\\lfloor x\\rfloor+1", "\\lceil x\\rceil"), "unequal");
  EXPECT_EQ(outcome("\\lfloor\\frac{n+1}{2}\\rfloor", "\\lceil\\frac n2\\rceil"), "equal");
  EXPECT_EQ(outcome("\\lfloor\\frac{x+1}{2}\\rfloor", "\\lceil\\frac x2\\rceil"), "unequal");
  EXPECT_EQ(outcome("(-8)^{2/3}", "4"), "equal");
  EXPECT_EQ(outcome("(-2)^{1/3}", "-\\sqrt[3]{2}"), "equal");
  EXPECT_EQ(outcome("(-4)^{1/2}", "2i"), "equal");
}

TEST(MathReadings, CongruencesAndBases) {
  EXPECT_EQ(outcome("x\\equiv2\\pmod5", "x\\equiv7\\pmod{5}"), "equal");
  EXPECT_EQ(outcome("x\\equiv2\\pmod5", "x\\equiv2\\pmod7"), "unequal");
  EXPECT_EQ(outcome("x\\equiv2\\pmod5", "y\\equiv2\\pmod5"), "unequal");
  EXPECT_EQ(outcome("5", "101\\text{ base }2"), "equal");
  EXPECT_EQ(outcome("5", "(101)_2"), "equal");
  EXPECT_EQ(outcome("\\frac{4}{33}", "0.1212\\ldots"), "equal");
  EXPECT_EQ(outcome("\\frac{1}{6}", "0.1666..."), "equal");
  EXPECT_EQ(outcome("\\pi", "3.14159\\ldots"), "undecided");
}

TEST(MathReadings, RespellsWithoutChangingValues) {
  EXPECT_EQ(respell("1 234 567"), "1234567");
  EXPECT_EQ(respell("12 34"), "12 34");
  EXPECT_EQ(respell("1 2345"), "1 2345");
  EXPECT_EQ(respell("3 125/216"), "3 125/216");
  EXPECT_EQ(respell("x¹⁰"), "x^{10}");
  EXPECT_EQ(respell("x₁₂"), "x_{12}");
  EXPECT_EQ(respell("５＋（２）"), "5+(2)");
  EXPECT_EQ(respell("\\textcolor{red}{5}"), " {5}");
  EXPECT_EQ(respell("1\\\\[4pt]2"), "1\\\\2");
  EXPECT_EQ(respell("\\{1\\}\\ \\"), "\\{1\\}\\ \\");
  EXPECT_EQ(respell("\\color{"), "\\color{");
  EXPECT_EQ(respell("\xef\xbc"), "\ufffd");
}

TEST(MathReadings, TellsRomanNumeralsFromSegments) {
  for (const char* text : {"II", "IV", "VI", "IX", "XI", "XL", "LX", "XIV", "LXXXVIII"})
    EXPECT_TRUE(is_roman(text)) << text;
  for (const char* text : {"I", "CD", "MC", "IIII", "VX", "IC", "AB", "", "XM"})
    EXPECT_FALSE(is_roman(text)) << text;
  EXPECT_EQ(outcome("AB", "BA"), "equal");
  EXPECT_EQ(outcome("CD", "DC"), "equal");
  EXPECT_EQ(outcome("ABC", "ACB"), "unequal");
  EXPECT_EQ(outcome("\\text{II and III}", "III, II"), "equal");
}

TEST(MathReadings, WordsThatChangeTheNumberAreNoUnits) {
  EXPECT_FALSE(may_be_counted("degrees below zero"));
  EXPECT_FALSE(may_be_counted("Below the line"));
  EXPECT_TRUE(may_be_counted("different ways"));
  EXPECT_EQ(outcome("\\frac37", "3\\text{ sevenths}"), "equal");
  EXPECT_EQ(outcome("5", "5\\text{ less than } x"), "undecided");
  EXPECT_EQ(find_unit("mW").factor, Fraction(1, 1000));
  EXPECT_EQ(find_unit("different ways").dimension, find_unit("ways").dimension);
}

}  // namespace
}  // namespace cohort::answers
