// How two expressions are told apart: kinks, exponentials, primes, and texts that are made to agree.
#include <gtest/gtest.h>

#include "tests/libs/answers/pairs.h"

namespace cohort::answers {
namespace {

std::string outcome(const std::string& a, const std::string& b) { return outcome_both_ways(a, b); }

TEST(MathDecisions, StepsAreComparedWhereTheyStand) {
  EXPECT_EQ(outcome("\\lfloor\\frac{n}{40}\\rfloor", "\\lfloor\\frac{n+1}{40}\\rfloor"), "unequal");
  EXPECT_EQ(outcome("\\lceil\\frac{n}{100}\\rceil", "\\lfloor\\frac{n+98}{100}\\rfloor"), "unequal");
  EXPECT_EQ(outcome("\\lceil\\frac{n}{100}\\rceil", "\\lfloor\\frac{n+99}{100}\\rfloor"), "equal");
  EXPECT_EQ(outcome("\\lfloor\\frac{n+m}{400}\\rfloor", "\\lfloor\\frac{n+m+1}{400}\\rfloor"), "unequal");
  EXPECT_EQ(outcome("\\lfloor x\\rfloor", "\\lfloor x+0.0001\\rfloor"), "unequal");
  EXPECT_EQ(outcome("\\lfloor\\frac{x}{70000}\\rfloor", "\\lfloor\\frac{x}{70000}+10^{-9}\\rfloor"),
            "unequal");
}

// n (n + 1) + 1 is a multiple of 9901 for n = 99, the first time.
TEST(MathDecisions, StepsOfPolynomialsAreComparedAtSmallIntegers) {
  EXPECT_EQ(outcome("\\lfloor\\frac{n^2+n}{9901}\\rfloor", "\\lfloor\\frac{n^2+n+1}{9901}\\rfloor"),
            "unequal");
  EXPECT_EQ(outcome("\\lfloor\\frac{n^2+n}{9901}\\rfloor", "\\lfloor\\frac{n(n+1)}{9901}\\rfloor"), "equal");
}

TEST(MathDecisions, SizesAreComparedOnBothSides) {
  EXPECT_EQ(outcome("|x-10^7|", "10^7-x"), "unequal");
  EXPECT_EQ(outcome("\\sqrt{(x-10^7)^2}", "10^7-x"), "unequal");
  EXPECT_EQ(outcome("\\sqrt{(x-10^7)^2}", "|10^7-x|"), "equal");
  EXPECT_EQ(outcome("|2x+10^7|", "2|x+5000000|"), "equal");
  EXPECT_EQ(outcome("|x+y-10^{12}|", "10^{12}-x-y"), "unequal");
}

TEST(MathDecisions, ExponentialClosenessIsNoEquality) {
  EXPECT_EQ(outcome("1", "\\tanh 100"), "unequal");
  EXPECT_EQ(outcome("\\tanh 60", "\\tanh 61"), "unequal");
  EXPECT_EQ(outcome("\\cosh 200", "\\sinh 200"), "unequal");
  EXPECT_EQ(outcome("i", "\\tan(100i)"), "unequal");
  EXPECT_EQ(outcome("1", "\\tanh(1000x^2)"), "unequal");
  EXPECT_EQ(outcome("x", "x\\tanh(100+x^2)"), "unequal");
  EXPECT_EQ(outcome("1", "\\tanh(10^9)"), "undecided");
  EXPECT_EQ(outcome("1", "\\cosh^2 20-\\sinh^2 20"), "equal");
}

TEST(MathDecisions, EquationsAreComparedToThePrecisionOfTheirDigits) {
  EXPECT_EQ(outcome("x^2+\\sqrt{y}=0", "x^2+\\sqrt{y}=10^{-100}"), "unequal");
  EXPECT_EQ(outcome("x^2+\\sqrt{y}=0", "x^2+\\sqrt{y}=10^{-400}"), "unequal");
  EXPECT_EQ(outcome("x^2+\\sqrt{y}=1", "2x^2+\\sqrt{4y}=2"), "equal");
}

// 2^61 - 1 and 2^61 - 31 are the largest primes below 2^61.
TEST(MathDecisions, PrimesCannotBeNamed) {
  EXPECT_EQ(outcome("x", "x+(2^{61}-1)(2^{61}-31)x^2"), "unequal");
  EXPECT_EQ(outcome("f(x)", "f(x)+(2^{61}-1)(2^{61}-31)x^2"), "unequal");
  EXPECT_EQ(outcome("f(x)=1", "f(x)+(2^{61}-1)(2^{61}-31)x^2=1"), "unequal");
  EXPECT_EQ(outcome("(x+1)^{100}(x-1)^{100}", "(x^2-1)^{100}"), "equal");
}

TEST(MathDecisions, NothingToThePowerOfNothingHasNoValue) {
  EXPECT_EQ(outcome("0^0", "1"), "undecided");
  EXPECT_EQ(outcome("0^{\\sqrt2-\\sqrt2}", "1"), "undecided");
}

// Ten sets of 59 factorials of about 8,000 bits each, in the opposite order.
TEST(MathDecisions, ExactArithmeticIsPaidFor) {
  std::string forth, back;
  for (int set = 0; set < 10; ++set) {
    std::string rising, falling;
    for (int n = 941; n < 1000; ++n) {
      rising += (rising.empty() ? "" : ",") + std::to_string(n) + "!";
      falling = std::to_string(n) + "!" + (falling.empty() ? "" : ",") + falling;
    }
    forth += (forth.empty() ? "" : ",") + ("\\{" + rising + "\\}");
    back += (back.empty() ? "" : ",") + ("\\{" + falling + "\\}");
  }
  EXPECT_EQ(outcome("(" + forth + ")", "(" + back + ")"), "undecided");
  EXPECT_EQ(outcome("\\{9!,10!,11!\\}", "\\{11!,10!,9!\\}"), "equal");
}

TEST(MathDecisions, NoSpellingIsTakenForAnother) {
  EXPECT_EQ(outcome("\\sqrt{3.5}", "\\sqrt3\\frac12"), "unequal");
  EXPECT_EQ(outcome("\\frac{\\sqrt3}{2}", "\\sqrt3\\frac12"), "equal");
  EXPECT_EQ(outcome("\\sqrt[3]5\\frac12", "\\frac{\\sqrt[3]{5}}{2}"), "equal");
  EXPECT_EQ(outcome("120!", "5!!"), "unequal");
  EXPECT_EQ(outcome("15", "5!!"), "equal");
  EXPECT_EQ(outcome("48", "6!!"), "equal");
  EXPECT_EQ(outcome("720!", "3!!!"), "undecided");
  EXPECT_EQ(outcome("1", "0!!"), "equal");
  EXPECT_EQ(outcome("(3!)!", "720"), "equal");
  EXPECT_EQ(outcome("cat", "act"), "unequal");
  EXPECT_EQ(outcome("xyz", "zxy"), "equal");
  EXPECT_EQ(outcome("abc", "cab"), "equal");
}

TEST(MathDecisions, TheOtherTextMakesNoProductOfAFunction) {
  EXPECT_EQ(outcome("g(f(x))", "f(g(x))+f-f+g-g"), "unequal");
  EXPECT_EQ(outcome("f(x+1)", "fx+f"), "unequal");
  EXPECT_EQ(outcome("g(x+1)", "gx+g"), "unequal");
  EXPECT_EQ(outcome("h(a+b)", "ha+hb"), "equal");
}

}  // namespace
}  // namespace cohort::answers
