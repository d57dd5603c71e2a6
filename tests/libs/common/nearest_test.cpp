#include "libs/common/nearest.h"

#include <gtest/gtest.h>

namespace cohort {
namespace {

TEST(NearestName, TakesTheFewestEdits) {
  const std::vector<std::string> names = {"beta", "epsilon", "epsilon_high", "temperature"};
  EXPECT_EQ(nearest_name("epsilom", names), "epsilon");
  EXPECT_EQ(nearest_name("epsilon_hihg", names), "epsilon_high");
  EXPECT_EQ(nearest_name("bta", names), "beta");
  EXPECT_EQ(nearest_name("temperature", names), "temperature");
}

TEST(NearestName, CountsASwapOnce) { EXPECT_EQ(nearest_name("ab", {"bx", "ba"}), "ba"); }

TEST(NearestName, TakesTheFirstAmongEquals) { EXPECT_EQ(nearest_name("x", {"xa", "xb"}), "xa"); }

TEST(NearestName, IsEmptyWithoutCandidates) { EXPECT_EQ(nearest_name("x", {}), ""); }

}  // namespace
}  // namespace cohort
