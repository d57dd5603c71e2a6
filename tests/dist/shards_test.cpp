// Leaves whose update processes share out: the same bits for any number of them.
#include "cohort/dist/shards.h"

#include <gtest/gtest.h>

#include "cohort/dist/gradient_sum.h"
#include "tests/dist/ranks.h"

namespace cohort::dist {
namespace {

constexpr int64_t kLarge = 5 * kBlockLength + 77;

/// A leaf of several blocks and two small ones; the first is packed.
std::vector<at::Tensor> zeros() {
  std::vector<at::Tensor> leaves;
  for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{kLarge, 2}, {7, 5}, {3}}) {
    leaves.push_back(at::zeros(sizes).requires_grad_(true));
    leaves.back().mutable_grad() = at::zeros(sizes);
  }
  return leaves;
}

const std::vector<bool> kIsPacked{true, false, false};

/// The gradient of a slot, with sums that depend on their order.
at::Tensor gradient_of(const at::Tensor& leaf, int64_t slot) {
  const at::Tensor values = at::arange(leaf.numel(), at::kFloat) + static_cast<double>(slot);
  return (values.sin() * at::exp(values.cos() * 9)).view(leaf.sizes());
}

/// The gradients of a process's slots, added up in the leaves.
void add_slots(const Group& group, int64_t num_slots, const std::vector<at::Tensor>& leaves) {
  const SlotPlan plan = SlotPlan::of(group, num_slots);
  SlotSums sums(leaves);
  for (int64_t slot = plan.first; slot < plan.first + plan.count; ++slot) {
    for (const at::Tensor& leaf : leaves) leaf.mutable_grad().add_(gradient_of(leaf, slot));
    sums.end_slot(slot + 1 == plan.first + plan.count);
  }
  sums.finish();
}

/// The whole sums, by leaf, as a process gets them.
std::vector<at::Tensor> sums_of(Group& group, int64_t num_slots) {
  const std::vector<at::Tensor> leaves = zeros();
  const Shards shards(group, leaves, kIsPacked);
  add_slots(group, num_slots, leaves);
  const std::vector<at::Tensor> parts = shards.sum_gradients();
  std::vector<at::Tensor> sums(leaves.size());
  const Shards::TakeLeaf take = [&](int64_t leaf, const at::Tensor& values) { sums[leaf] = values; };
  shards.gather_whole(parts, take);
  shards.gather_packed(parts, at::kFloat, take);
  for (const at::Tensor& leaf : leaves) EXPECT_EQ(leaf.grad().defined(), group.size() == 1);
  return sums;
}

TEST(ShardPlanTest, SharesOutEachBlockOnce) {
  // Blocks: 3 of leaf 4, 1 of leaf 6, 2 of leaf 7; in chunks of 4.
  const std::vector<ShardChunk> chunks =
      plan_shards({4, 6, 7}, {2 * kBlockLength + 5, 10, 2 * kBlockLength}, 2, 4 * kBlockLength);
  ASSERT_EQ(chunks.size(), 2u);
  const auto is = [](const LeafPart& part, int64_t leaf, int64_t from, int64_t count) {
    return part.leaf == leaf && part.from == from && part.count == count;
  };
  ASSERT_EQ(chunks[0].of_rank[0].size(), 1u);
  EXPECT_TRUE(is(chunks[0].of_rank[0][0], 4, 0, 2 * kBlockLength));
  ASSERT_EQ(chunks[0].of_rank[1].size(), 2u);
  EXPECT_TRUE(is(chunks[0].of_rank[1][0], 4, 2 * kBlockLength, 5));
  EXPECT_TRUE(is(chunks[0].of_rank[1][1], 6, 0, 10));
  EXPECT_EQ(chunks[0].length, 2 * kBlockLength);
  EXPECT_TRUE(is(chunks[1].of_rank[0][0], 7, 0, kBlockLength));
  EXPECT_TRUE(is(chunks[1].of_rank[1][0], 7, kBlockLength, kBlockLength));
  // More ranks than blocks: some have none.
  EXPECT_TRUE(plan_shards({0}, {3}, 4, kBlockLength)[0].of_rank[0].empty());
}

TEST(ShardsTest, SumsHaveTheSameBitsOnAnyNumberOfProcesses) {
  Group alone;
  const std::vector<at::Tensor> leaves = zeros();
  add_slots(alone, 8, leaves);
  at::Tensor plain = at::zeros({kLarge, 2}, at::kDouble);
  for (int64_t slot = 0; slot < 8; ++slot) plain += gradient_of(leaves[0], slot);
  EXPECT_LT((leaves[0].grad() - plain).abs().max().item<double>(), 1e-6 * plain.abs().max().item<double>());
  for (const int64_t size : {2, 4, 8}) {
    for_each_rank(size, [&](Group& group) {
      const std::vector<at::Tensor> sums = sums_of(group, 8);
      for (size_t i = 0; i < leaves.size(); ++i) EXPECT_TRUE(sums[i].equal(leaves[i].grad())) << size << i;
    });
  }
  for_each_rank(3, [&](Group& group) {
    at::Tensor sum = at::zeros({7, 5}, at::kDouble);
    for (int64_t slot = 0; slot < 6; ++slot) sum += gradient_of(leaves[1], slot);
    EXPECT_LT((sums_of(group, 6)[1] - sum).abs().max().item<double>(), 1e-6 * sum.abs().max().item<double>());
  });
}

TEST(ShardsTest, ProcessesShareOutLeavesEvenly) {
  for_each_rank(4, [](Group& group) {
    const std::vector<at::Tensor> leaves = zeros();
    const Shards shards(group, leaves, kIsPacked);
    int64_t count = 0;
    for (const LeafPart& part : shards.own()) count += part.count;
    EXPECT_LE(count, 2 * kLarge / 4 + 2 * kBlockLength);
  });
}

TEST(ShardsTest, PackedLeavesComeInTheTypeOfTheirCopies) {
  for_each_rank(2, [](Group& group) {
    const std::vector<at::Tensor> leaves = zeros();
    const Shards shards(group, leaves, kIsPacked);
    const at::Tensor whole = at::linspace(0.0, 1.0, 2 * kLarge);
    std::vector<at::Tensor> parts;
    for (const LeafPart& part : shards.own()) {
      parts.push_back(part.leaf == 0 ? whole.slice(0, part.from, part.from + part.count)
                                     : at::zeros({part.count}));
    }
    int64_t num_taken = 0;
    shards.gather_packed(parts, at::kBFloat16, [&](int64_t leaf, const at::Tensor& values) {
      EXPECT_EQ(leaf, 0);
      EXPECT_TRUE(values.equal(whole.to(at::kBFloat16).view({kLarge, 2})));
      ++num_taken;
    });
    EXPECT_EQ(num_taken, 1);
  });
}

}  // namespace
}  // namespace cohort::dist
