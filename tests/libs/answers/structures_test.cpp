// Answers of several parts: values with names, conditions that "and" and "or" join, collections, matrices.
#include <gtest/gtest.h>

#include "tests/libs/answers/pairs.h"

namespace cohort::answers {
namespace {

std::string outcome(const std::string& a, const std::string& b) { return outcome_both_ways(a, b); }

TEST(MathNames, OfATupleSayWhichValueIsWhose) {
  EXPECT_EQ(outcome("(m,n)=(3,4)", "n=3,m=4"), "unequal");
  EXPECT_EQ(outcome("(p,q)=(2,3)", "q=2,p=3"), "unequal");
  EXPECT_EQ(outcome("(A,B)=(1,2)", "B=1,A=2"), "unequal");
  EXPECT_EQ(outcome("(r,s)=(2,3)", "s=2, r=3"), "unequal");
  EXPECT_EQ(outcome("(m,n)=(3,4)", "n=4,m=3"), "equal");
  EXPECT_EQ(outcome("(n,m)=(1,2)", "m=2,n=1"), "equal");
  EXPECT_EQ(outcome("(a,b)=(1,2)", "(b,a)=(2,1)"), "equal");
  EXPECT_EQ(outcome("(a,b)=(1,2)", "(b,a)=(1,2)"), "unequal");
  EXPECT_EQ(outcome("(x,y)=(1,2)", "a=1,b=2"), "unequal");
  EXPECT_EQ(outcome("x=1,y=2", "(p,q)=(1,2)"), "unequal");
  EXPECT_EQ(outcome("(4,3)", "(y,x)=(3,4)"), "equal");
  EXPECT_EQ(outcome("\\{(1,2)\\}", "(x,y)=(1,2)"), "equal");
  EXPECT_EQ(outcome("(1,2),(3,4)", "(x,y)=(1,2),(3,4)"), "equal");
  EXPECT_EQ(outcome("(1,2),(3,4)", "(y,x)=(1,2) \\text{ or } (y,x)=(3,4)"), "unequal");
}

TEST(MathNames, WithoutAnAgreedOrderComeAsWritten) {
  EXPECT_EQ(outcome("(3,4)", "n=3,m=4"), "unequal");
  EXPECT_EQ(outcome("(3,4)", "m=3,n=4"), "equal");
  EXPECT_EQ(outcome("(3,4)", "m=3,b=4"), "equal");
  EXPECT_EQ(outcome("k=2,b=3", "3,2"), "unequal");
  EXPECT_EQ(outcome("k=2,b=3", "2,3"), "equal");
}

TEST(MathNames, MakeAPointAndNoInterval) {
  EXPECT_EQ(outcome("(1,2)", "x=1,y=2"), "equal");
  EXPECT_EQ(outcome("[1,2)", "x=1,y=2"), "unequal");
  EXPECT_EQ(outcome("(1,2]", "x=1,y=2"), "unequal");
  EXPECT_EQ(outcome("[1,2]", "a=1,b=2"), "unequal");
}

TEST(MathNames, BeforeASetOfPoints) {
  EXPECT_EQ(outcome("(x,y)\\in\\{(1,2),(2,1)\\}", "(1,2),(2,1)"), "equal");
  EXPECT_EQ(outcome("(x,y)\\in\\{(1,2),(2,1)\\}", "(1,2),(2,2)"), "unequal");
  EXPECT_EQ(outcome("(x,y)\\in\\{(1,2),(2,3)\\}", "(y,x)\\in\\{(1,2),(2,3)\\}"), "unequal");
}

TEST(MathNames, MayBeLettersOfConstants) {
  EXPECT_EQ(outcome("\\frac{\\sqrt3}{2}", "e=\\frac{\\sqrt3}{2}"), "equal");
  EXPECT_EQ(outcome("e=\\frac ca=\\frac12", "\\frac12"), "equal");
  EXPECT_EQ(outcome("\\frac12", "e=\\frac13"), "unequal");
  EXPECT_EQ(outcome("e", "e=2.718"), "unequal");
  EXPECT_EQ(outcome("\\overline{z}", "\\bar{z}"), "equal");
  EXPECT_EQ(outcome("\\overline{AB}", "\\bar{A}B"), "unequal");
  EXPECT_EQ(outcome("10", "\\mathrm{C}_5^2"), "equal");
  EXPECT_EQ(outcome("20", "\\mathrm{C}_5^2"), "unequal");
}

TEST(MathNames, HaveTheConstantAtTheEndOfAChain) {
  EXPECT_EQ(outcome("25\\pi", "A = \\pi r^2 = 25\\pi"), "equal");
  EXPECT_EQ(outcome("5", "S=\\frac{1}{2}ab=5"), "equal");
  EXPECT_EQ(outcome("5", "S=\\frac{1}{2}ab=6=5"), "unequal");
  EXPECT_EQ(outcome("6", "S=\\frac{1}{2}ab=6=5"), "unequal");
}

TEST(MathConnectives, AndIsNoOrBetweenDifferentNames) {
  EXPECT_EQ(outcome("x=0\\text{ and }y=0", "x=0\\text{ or }y=0"), "unequal");
  EXPECT_EQ(outcome("a\\ne0\\text{ and }b\\ne0", "a\\ne0\\text{ or }b\\ne0"), "unequal");
  EXPECT_EQ(outcome("x\\ge1,y\\ge2", "x\\ge1\\text{ or }y\\ge2"), "unequal");
  EXPECT_EQ(outcome("x\\ge1,y\\ge2", "x\\ge1\\text{ and }y\\ge2"), "equal");
  EXPECT_EQ(outcome("x=1\\text{ or }y=2", "x=1,y=2"), "unequal");
  EXPECT_EQ(outcome("x=1\\text{ or }y=2", "y=2\\text{ or }x=1"), "equal");
  EXPECT_EQ(outcome("x+y=1\\text{ or }x-y=2", "x+y=1,x-y=2"), "unequal");
}

TEST(MathConnectives, AlternativesForDifferentNamesAreNoPlainValues) {
  for (const char* values : {"1,2", "(1,2)", "\\{1,2\\}", "1\\text{ or }2"})
    EXPECT_EQ(outcome("x=1\\text{ or }y=2", values), "unequal") << values;
}

TEST(MathConnectives, OfOneUnknownNameItsSolutionsAlike) {
  EXPECT_EQ(outcome("x=1\\text{ or }x=2", "x=1\\text{ and }x=2"), "equal");
  EXPECT_EQ(outcome("x_1=1\\text{ and }x_2=2", "x_1=1\\text{ or }x_2=2"), "equal");
  EXPECT_EQ(outcome("x=k\\pi\\text{ or }x=\\frac\\pi3+k\\pi", "x=k\\pi\\text{ and }x=\\frac\\pi3+k\\pi"),
            "equal");
  EXPECT_EQ(outcome("x=y\\text{ or }x=-y", "x=\\pm y"), "equal");
  EXPECT_EQ(outcome("x=y\\text{ or }x=-y", "x=y\\text{ and }x=-y"), "unequal");
  EXPECT_EQ(outcome("y=2x\\text{ or }y=-2x", "y=2x\\text{ and }y=-2x"), "equal");
  EXPECT_EQ(outcome("x\\in A\\text{ or }x\\in B", "x\\in A\\text{ and }x\\in B"), "unequal");
  EXPECT_EQ(outcome("\\frac23", "\\frac23\\text{ or }0.\\overline{6}"), "equal");
  EXPECT_EQ(outcome("\\frac23", "\\frac23\\text{ or }0.6"), "unequal");
  EXPECT_EQ(outcome("1", "1, 1"), "unequal");
}

TEST(MathConnectives, ConditionsStandInBracketsToo) {
  const std::string gold = "x=2k\\pi+\\frac\\pi3(k\\in\\mathbf{Z})";
  EXPECT_EQ(outcome(gold, "x=2k\\pi+\\frac\\pi3, k\\in\\mathbb{Z}"), "equal");
  EXPECT_EQ(outcome(gold, "x=k\\pi+\\frac\\pi3, k\\in\\mathbb{Z}"), "unequal");
  EXPECT_EQ(outcome(gold, "x=2k\\pi+\\frac\\pi3, k\\in\\mathbb{N}"), "unequal");
  EXPECT_EQ(outcome(gold, "x=2k\\pi+\\frac\\pi3"), "equal");
  EXPECT_EQ(outcome(gold, "2k\\pi+\\frac\\pi3"), "equal");
  EXPECT_EQ(outcome(gold, "y=2k\\pi+\\frac\\pi3, k\\in Z"), "unequal");
  EXPECT_EQ(outcome("x>n, n\\in\\mathbb{Z}", "x>n"), "undecided");
}

// A unit may be missing on one side, so that 5 equals 5 m and 5 cm, which differ.
TEST(MathCollections, FindPartnersInAnyOrder) {
  EXPECT_EQ(outcome("5, 5\\text{ m}", "5\\text{ m}, 5"), "equal");
  EXPECT_EQ(outcome("5, 5\\text{ m}", "5\\text{ m}, 5\\text{ cm}"),
            outcome("5\\text{ m}, 5", "5\\text{ m}, 5\\text{ cm}"));
  EXPECT_EQ(outcome("5, 5, 5\\text{ m}", "5\\text{ m}, 5\\text{ m}, 5\\text{ cm}"), "equal");
  EXPECT_EQ(outcome("5\\text{ m}, 5\\text{ m}, 5", "5\\text{ cm}, 5\\text{ cm}, 5"), "unequal");
  EXPECT_EQ(outcome("1, 2, 2", "1, 1, 2"), "unequal");
  EXPECT_EQ(outcome("\\{1, 2, 2\\}", "\\{1, 1, 2\\}"), "equal");
}

TEST(MathMatrices, AreAddedCellByCell) {
  const std::string line = "\\begin{pmatrix}1\\\\2\\end{pmatrix}+t\\begin{pmatrix}3\\\\4\\end{pmatrix}";
  EXPECT_EQ(outcome(line, "\\begin{pmatrix}1+3t\\\\2+4t\\end{pmatrix}"), "equal");
  EXPECT_EQ(outcome(line, "\\begin{pmatrix}1+3t\\\\2-4t\\end{pmatrix}"), "unequal");
  EXPECT_EQ(outcome("\\begin{pmatrix}1\\\\2\\end{pmatrix}-\\begin{pmatrix}3\\\\4\\end{pmatrix}",
                    "-\\begin{pmatrix}2\\\\2\\end{pmatrix}"),
            "equal");
  EXPECT_EQ(outcome("A+\\begin{pmatrix}1\\\\2\\end{pmatrix}", "\\begin{pmatrix}1\\\\2\\end{pmatrix}"),
            "undecided");
  EXPECT_EQ(
      describe_answer("\\begin{pmatrix}1\\\\2\\end{pmatrix}+\\begin{pmatrix}1\\end{pmatrix}").substr(0, 8),
      "not read");
}

}  // namespace
}  // namespace cohort::answers
