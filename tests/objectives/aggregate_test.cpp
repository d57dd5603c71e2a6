#include "cohort/objectives/aggregate.h"

#include <gtest/gtest.h>

#include "cohort/core/error.h"

namespace cohort {
namespace {

TEST(Aggregate, WeightsByHand) {
  const std::vector<int64_t> lengths = {4, 0, 1, 3};
  const BatchCounts counts = count_batch(lengths);
  EXPECT_EQ(counts.num_completions, 4);
  EXPECT_EQ(counts.num_loss_tokens, 8);
  EXPECT_DOUBLE_EQ(token_weight(LossType::kGrpo, 4, counts, 10), 1.0 / 16);
  EXPECT_DOUBLE_EQ(token_weight(LossType::kGrpo, 0, counts, 10), 1.0 / 4);
  EXPECT_DOUBLE_EQ(token_weight(LossType::kDapo, 4, counts, 10), 1.0 / 8);
  EXPECT_DOUBLE_EQ(token_weight(LossType::kDrGrpo, 4, counts, 10), 1.0 / 40);
}

TEST(Aggregate, NothingToTrainIsFinite) {
  const BatchCounts counts = count_batch(std::vector<int64_t>{0, 0});
  EXPECT_DOUBLE_EQ(token_weight(LossType::kDapo, 0, counts, 10), 1.0);
  EXPECT_DOUBLE_EQ(token_weight(LossType::kGrpo, 0, counts, 10), 0.5);
}

TEST(Aggregate, Names) {
  EXPECT_EQ(parse_loss_type("grpo"), LossType::kGrpo);
  EXPECT_EQ(parse_loss_type("dapo"), LossType::kDapo);
  EXPECT_EQ(parse_loss_type("dr_grpo"), LossType::kDrGrpo);
  EXPECT_THROW(parse_loss_type("ppo"), ConfigError);
}

}  // namespace
}  // namespace cohort
