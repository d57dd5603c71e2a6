// Process supervision by hand, from the formula of arXiv:2402.03300 section 4.1.3.
#include "cohort/objectives/process_advantage.h"

#include <gtest/gtest.h>

#include <cmath>

namespace cohort {
namespace {

RewardResult stepped(std::vector<StepReward> steps) { return {0.0, RewardStatus::kOk, "", std::move(steps)}; }

RewardMatrix group_of(std::vector<RewardResult> cells) {
  RewardMatrix matrix(static_cast<int64_t>(cells.size()), {"process"});
  for (size_t i = 0; i < cells.size(); ++i) matrix.at(static_cast<int64_t>(i), 0) = cells[i];
  return matrix;
}

const std::vector<double> kOne{1.0};
const std::vector<uint8_t> kSteps{1};

Advantages advantages_of(const std::vector<RewardMatrix>& rewards, const RewardColumns& columns,
                         const std::vector<int64_t>& lengths, ScaleRewards scale,
                         const std::vector<size_t>& masked = {}) {
  TotalRewards totals;
  for (const RewardMatrix& matrix : rewards) append_total_rewards(matrix, columns.weights, totals);
  for (const size_t i : masked) totals.valid[i] = 0;
  return process_advantages(rewards, columns, totals, lengths, scale);
}

void expect_tokens(const std::vector<float>& tokens, const std::vector<double>& expected) {
  ASSERT_EQ(tokens.size(), expected.size());
  for (size_t i = 0; i < tokens.size(); ++i) EXPECT_NEAR(tokens[i], expected[i], 1e-6) << i;
}

TEST(ProcessAdvantage, SumsTheNormalisedRewardsOfTheStepsToCome) {
  // R = {1, 0, 0.5, 1}: mean 0.625, squares 0.140625 + 0.390625 + 0.015625 + 0.140625 = 0.6875, variance
  // 0.6875 / 3.
  const std::vector<RewardMatrix> rewards{
      group_of({stepped({{2, 1.0}, {5, 0.0}}), stepped({{3, 0.5}, {4, 1.0}})})};
  const std::vector<int64_t> lengths{5, 6};
  const Advantages result = advantages_of(rewards, {kOne, kSteps}, lengths, ScaleRewards::kGroup);
  const double divisor = std::sqrt(0.6875 / 3.0) + 1e-4;
  const double a = 0.375 / divisor, b = -0.625 / divisor, c = -0.125 / divisor, d = 0.375 / divisor;
  expect_tokens(result.tokens[0], {a + b, a + b, b, b, b});
  expect_tokens(result.tokens[1], {c + d, c + d, c + d, d, 0.0, 0.0});  // nothing behind the last step
  EXPECT_NEAR(result.values[0], a + b, 1e-12);
  EXPECT_EQ(result.frac_reward_zero_std, 0.0);

  const Advantages unscaled = advantages_of(rewards, {kOne, kSteps}, lengths, ScaleRewards::kNone);
  expect_tokens(unscaled.tokens[1], {0.25, 0.25, 0.25, 0.375, 0.0, 0.0});
}

TEST(ProcessAdvantage, GroupsAreNormalisedApartAndOfAnyNumberOfSteps) {
  const std::vector<RewardMatrix> rewards{group_of({stepped({{1, 0.0}}), stepped({{1, 1.0}, {2, 1.0}})}),
                                          group_of({stepped({{1, 7.0}}), stepped({{1, 7.0}, {3, 7.0}})})};
  const Advantages result = advantages_of(rewards, {kOne, kSteps}, {1, 2, 1, 3}, ScaleRewards::kNone);
  // R = {0, 1, 1}: mean 2/3.
  expect_tokens(result.tokens[0], {-2.0 / 3});
  expect_tokens(result.tokens[1], {2.0 / 3, 1.0 / 3});
  for (const size_t i : {2u, 3u}) {
    for (const float advantage : result.tokens[i]) EXPECT_EQ(advantage, 0.0f);
  }
  EXPECT_EQ(result.zero_std, (std::vector<uint8_t>{0, 1}));
  EXPECT_EQ(result.frac_reward_zero_std, 0.5);
}

TEST(ProcessAdvantage, AFailureTakesNoPart) {
  const RewardResult failed{0.0, RewardStatus::kError, "broken"};
  const std::vector<RewardMatrix> rewards{group_of({stepped({{1, 1.0}}), failed, stepped({{2, 0.0}})})};
  const Advantages result = advantages_of(rewards, {kOne, kSteps}, {1, 4, 2}, ScaleRewards::kNone);
  expect_tokens(result.tokens[0], {0.5});
  expect_tokens(result.tokens[1], {0, 0, 0, 0});
  expect_tokens(result.tokens[2], {-0.5, -0.5});
}

TEST(ProcessAdvantage, WhatIsMaskedTakesNoPart) {
  const std::vector<RewardMatrix> rewards{
      group_of({stepped({{1, 1.0}}), stepped({{1, 9.0}, {4, 9.0}}), stepped({{2, 0.0}})})};
  const Advantages result = advantages_of(rewards, {kOne, kSteps}, {1, 4, 2}, ScaleRewards::kNone, {1});
  expect_tokens(result.tokens[0], {0.5});
  expect_tokens(result.tokens[1], {0, 0, 0, 0});
  expect_tokens(result.tokens[2], {-0.5, -0.5});
}

TEST(ProcessAdvantage, OutcomeRewardsReachEveryToken) {
  // Steps weigh 2: R = {2, 0}, mean 1. Outcomes weigh 3: {0, 3}, mean 1.5.
  RewardMatrix matrix(2, {"process", "right"});
  matrix.at(0, 0) = stepped({{1, 1.0}});
  matrix.at(1, 0) = stepped({{1, 0.0}});
  matrix.at(1, 1).score = 1.0;
  const std::vector<double> weights{2.0, 3.0};
  const std::vector<uint8_t> gives_steps{1, 0};
  const std::vector<RewardMatrix> rewards{matrix};
  const Advantages result = advantages_of(rewards, {weights, gives_steps}, {2, 2}, ScaleRewards::kNone);
  expect_tokens(result.tokens[0], {1.0 - 1.5, -1.5});
  expect_tokens(result.tokens[1], {-1.0 + 1.5, 1.5});
}

TEST(ProcessAdvantage, AnEmptyCompletionHasNone) {
  const std::vector<RewardMatrix> rewards{group_of({stepped({{0, 1.0}}), stepped({{2, 0.0}})})};
  const Advantages result = advantages_of(rewards, {kOne, kSteps}, {0, 2}, ScaleRewards::kNone);
  EXPECT_TRUE(result.tokens[0].empty());
  EXPECT_EQ(result.values[0], 0.0);
  expect_tokens(result.tokens[1], {-0.5, -0.5});
}

}  // namespace
}  // namespace cohort
