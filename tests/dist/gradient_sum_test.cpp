// Sums of gradients: the same bits for any number of processes.
#include "cohort/dist/gradient_sum.h"

#include <gtest/gtest.h>

#include "cohort/core/error.h"
#include "tests/dist/ranks.h"

namespace cohort::dist {
namespace {

/// The gradient of a slot, of two leaves, with sums that depend on their order.
std::vector<at::Tensor> gradients_of(int64_t slot) {
  const at::Tensor values = at::arange(37, at::kFloat) + static_cast<double>(slot);
  return {(values.sin() * at::exp(values.cos() * 9)).slice(0, 0, 35).unflatten(0, {7, 5}).contiguous(),
          values.cos().slice(0, 0, 3).contiguous()};
}

std::vector<at::Tensor> leaves() {
  std::vector<at::Tensor> all{at::zeros({7, 5}).requires_grad_(true), at::zeros({3}).requires_grad_(true)};
  for (at::Tensor& leaf : all) leaf.mutable_grad() = at::zeros_like(leaf.detach());
  return all;
}

/// What the leaves' gradients are after a process has added up its slots and the processes theirs.
std::vector<at::Tensor> sum_of(Group& group, int64_t num_slots) {
  const SlotPlan plan = SlotPlan::of(group, num_slots);
  std::vector<at::Tensor> own = leaves();
  SlotSums sums(own);
  for (int64_t slot = plan.first; slot < plan.first + plan.count; ++slot) {
    const std::vector<at::Tensor> gradients = gradients_of(slot);
    for (size_t i = 0; i < own.size(); ++i) own[i].mutable_grad().add_(gradients[i]);
    sums.end_slot(slot + 1 == plan.first + plan.count);
  }
  sums.finish();
  sum_over_processes(group, own);
  return {own[0].grad(), own[1].grad()};
}

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

TEST(GradientSumTest, AnyNumberOfProcessesGivesTheSameBits) {
  Group alone;
  const std::vector<at::Tensor> expected = sum_of(alone, 8);
  at::Tensor plain = at::zeros({7, 5}, at::kDouble);
  for (int64_t slot = 0; slot < 8; ++slot) plain += gradients_of(slot)[0];
  EXPECT_TRUE(at::allclose(expected[0].to(at::kDouble), plain, 1e-6));
  for (const int64_t size : {2, 4, 8}) {
    for_each_rank(size, [&](Group& group) {
      const std::vector<at::Tensor> own = sum_of(group, 8);
      EXPECT_TRUE(own[0].equal(expected[0]) && own[1].equal(expected[1])) << size;
    });
  }
  for_each_rank(3, [&](Group& group) {
    at::Tensor sum = at::zeros({7, 5}, at::kDouble);
    for (int64_t slot = 0; slot < 6; ++slot) sum += gradients_of(slot)[0];
    EXPECT_TRUE(at::allclose(sum_of(group, 6)[0].to(at::kDouble), sum, 1e-6));
  });
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
