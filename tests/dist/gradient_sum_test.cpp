// Slots of an update and their sums.
#include "cohort/dist/gradient_sum.h"

#include <gtest/gtest.h>

#include "cohort/core/error.h"
#include "tests/dist/ranks.h"

namespace cohort::dist {
namespace {

TEST(TreeSumTest, AddsNeighboursFirst) {
  // In float32, 1e8 + 1 is 1e8: what is left tells the order.
  const auto sum = [](std::vector<float> values) {
    return tree_sum(at::tensor(values).unsqueeze(1)).item<float>();
  };
  EXPECT_EQ(sum({3.0f}), 3.0f);
  EXPECT_EQ(sum({1e8f, -1e8f, 1.0f, 1.0f}), 2.0f);
  EXPECT_EQ(sum({1e8f, 1.0f, -1e8f, 1.0f}), 0.0f);
  EXPECT_EQ(sum({1e8f, 1.0f, 1.0f, -1e8f, 5.0f}), 5.0f);
}

TEST(SlotPlanTest, SlotsThatDoNotFitAreRefused) {
  for_each_rank(3, [](Group& group) {
    EXPECT_EQ(SlotPlan::of(group, 0).num_slots, 3);
    EXPECT_EQ(SlotPlan::of(group, 12).first, 4 * group.rank());
    EXPECT_EQ(SlotPlan::of(group, 12).count, 4);
    EXPECT_EQ(SlotPlan::of(group, 12).num_copies(), 2);
    EXPECT_EQ(SlotPlan::of(group, 3).num_copies(), 0);
    try {
      SlotPlan::of(group, 8);
      FAIL();
    } catch (const ConfigError& error) {
      EXPECT_STREQ(
          error.what(),
          "dist.gradient_slots is 8 and there are 3 processes: take 3, 6, 12 ... slots, or leave it at 0, "
          "for one slot in each process");
    }
  });
}

}  // namespace
}  // namespace cohort::dist
