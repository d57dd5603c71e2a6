// Process supervision by hand, from the formula of arXiv:2402.03300 section 4.1.3.
#include <gtest/gtest.h>

#include <cmath>

#include "cohort/core/error.h"
#include "cohort/objectives/advantage_algebra.h"
#include "tests/objectives/advantage_examples.h"

namespace cohort {
namespace {

/// A step's last token and its reward.
struct JudgedStep {
  int64_t last_token;
  double score;
};

/// One list of steps per completion, and the completions' lengths.
AdvantageInput stepped(const std::vector<std::vector<JudgedStep>>& completions,
                       std::vector<int64_t> group_ends, std::vector<int64_t> lengths) {
  AdvantageInput input{.group_ends = std::move(group_ends), .lengths = std::move(lengths)};
  const int64_t num_completions = std::ssize(completions);
  constexpr int64_t kMostSteps = 3;
  input.rewards = at::full({num_completions, kMostSteps}, kNoScore, at::kDouble);
  input.step_ends = at::full({num_completions, kMostSteps}, -1, at::kLong);
  for (int64_t i = 0; i < num_completions; ++i) {
    for (int64_t k = 0; k < std::ssize(completions[i]); ++k) {
      input.rewards[i][k] = completions[i][k].score;
      input.step_ends[i][k] = completions[i][k].last_token;
    }
  }
  return input;
}

AdvantageOutput by_steps(const AdvantageInput& input, const std::string& scale) {
  AdvantageConfig config = config_of("grpo_process");
  config.scale_rewards = scale;
  const AdvantageOutput output = advantages_of(input, config);
  EXPECT_TRUE(output.is_per_token);
  return output;
}

TEST(ProcessAdvantage, SumsTheNormalizedRewardsOfTheStepsToCome) {
  // R = {1, 0, 0.5, 1}: mean 0.625, squares 0.140625 + 0.390625 + 0.015625 + 0.140625 = 0.6875, variance
  // 0.6875 / 3.
  const AdvantageInput input = stepped({{{1, 1.0}, {4, 0.0}}, {{2, 0.5}, {3, 1.0}}}, {2}, {5, 6});
  const double divisor = std::sqrt(0.6875 / 3.0) + 1e-4;
  const double a = 0.375 / divisor, b = -0.625 / divisor, c = -0.125 / divisor, d = 0.375 / divisor;
  const AdvantageOutput result = by_steps(input, "group");
  expect_advantages(result.values, {a + b, a + b, b, b, b,               // the first completion
                                    c + d, c + d, c + d, d, 0.0, 0.0});  // nothing behind the last step
  EXPECT_EQ(result.frac_reward_zero_std, 0.0);

  expect_advantages(by_steps(input, "none").values,
                    {-0.25, -0.25, -0.625, -0.625, -0.625, 0.25, 0.25, 0.25, 0.375, 0.0, 0.0});
}

TEST(ProcessAdvantage, GroupsAreNormalizedApartAndOfAnyNumberOfSteps) {
  const AdvantageInput input =
      stepped({{{0, 0.0}}, {{0, 1.0}, {1, 1.0}}, {{0, 7.0}}, {{0, 7.0}, {2, 7.0}}}, {2, 4}, {1, 2, 1, 3});
  const AdvantageOutput result = by_steps(input, "none");
  // R = {0, 1, 1}: mean 2/3. The second group has no difference.
  expect_advantages(result.values, {-2.0 / 3, 2.0 / 3, 1.0 / 3, 0, 0, 0, 0});
  const std::vector<double> values = numbers(result.values);
  for (size_t t = 3; t < values.size(); ++t) EXPECT_EQ(values[t], 0.0);
  EXPECT_EQ(result.has_no_difference, (std::vector<uint8_t>{0, 1}));
  EXPECT_EQ(result.frac_reward_zero_std, 0.5);
}

TEST(ProcessAdvantage, AFailureTakesNoPart) {
  AdvantageInput input = stepped({{{0, 1.0}}, {}, {{1, 0.0}}}, {3}, {1, 4, 2});
  expect_advantages(by_steps(input, "none").values, {0.5, 0, 0, 0, 0, -0.5, -0.5});
  // Its outcome is missing, too: those of the others are 1 and 0.
  input.outcome_rewards = doubles({1, kNoScore, 0});
  expect_advantages(by_steps(input, "none").values, {1, 0, 0, 0, 0, -1, -1});
}

TEST(ProcessAdvantage, WhatIsMaskedTakesNoPart) {
  // A mask takes the rewards away and leaves the places of the steps.
  AdvantageInput input = stepped({{{0, 1.0}}, {{0, kNoScore}, {3, kNoScore}}, {{1, 0.0}}}, {3}, {1, 4, 2});
  expect_advantages(by_steps(input, "none").values, {0.5, 0, 0, 0, 0, -0.5, -0.5});
  // The same for a completion that is dropped with its rewards.
  input = stepped({{{0, 1.0}}, {{0, 9.0}, {3, 9.0}}, {{1, 0.0}}}, {3}, {1, 4, 2});
  input.outcome_rewards = doubles({1, 9, 0});
  input.is_truncated = {0, 1, 0};
  AdvantageConfig config = config_of("grpo_process");
  config.scale_rewards = "none";
  config.drop_truncated = true;
  const AdvantageOutput result = advantages_of(input, config);
  expect_advantages(result.values, {1, 0, 0, 0, 0, -1, -1});
  expect_advantages(result.is_kept, {1, 0, 1});
}

TEST(ProcessAdvantage, OutcomeRewardsReachEveryToken) {
  // Steps weigh 2: R = {2, 0}, mean 1. Outcomes weigh 3: {0, 3}, mean 1.5.
  AdvantageInput input = stepped({{{0, 2.0 * 1.0}}, {{0, 2.0 * 0.0}}}, {2}, {2, 2});
  input.outcome_rewards = doubles({3.0 * 0.0, 3.0 * 1.0});
  expect_advantages(by_steps(input, "none").values, {1.0 - 1.5, -1.5, -1.0 + 1.5, 1.5});
}

TEST(ProcessAdvantage, OutcomesAreNormalizedByTheSameSettings) {
  AdvantageInput input = stepped({{{0, 2.0}}, {{0, 0.0}}, {}, {}}, {2, 4}, {2, 2, 1, 1});
  input.outcome_rewards = doubles({0, 4, 1, 1});
  // Of two numbers that are d apart the deviation is d / sqrt(2), so that they lie 1 / sqrt(2) from their
  // mean.
  AdvantageConfig config = config_of("grpo_process");
  config.scale_epsilon = 0.0;
  const double root = std::sqrt(0.5);
  AdvantageOutput result = advantages_of(input, config);
  expect_advantages(result.values, {root - root, -root, -root + root, root, 0, 0});
  EXPECT_EQ(result.has_no_difference, (std::vector<uint8_t>{0, 1}));
  // The batch's outcomes {0, 4, 1, 1}: mean 1.5, squares 2.25 + 6.25 + 0.25 + 0.25 = 9, variance 3. The
  // batch's steps are {2, 0}.
  config.scale_rewards = "batch";
  const double outcome = 2.0 / std::sqrt(3.0);
  expect_advantages(advantages_of(input, config).values,
                    {root - outcome, -outcome, -root + outcome, outcome, 0, 0});
}

TEST(ProcessAdvantage, AGroupDiffersByItsOutcomesAlone) {
  AdvantageInput input = stepped({{{0, 1.0}}, {{1, 1.0}}}, {2}, {1, 2});
  input.outcome_rewards = doubles({1, 0});
  const AdvantageOutput result = by_steps(input, "none");
  expect_advantages(result.values, {0.5, -0.5, -0.5});
  EXPECT_EQ(result.has_no_difference, (std::vector<uint8_t>{0}));
  EXPECT_EQ(result.frac_reward_zero_std, 0.0);
}

TEST(ProcessAdvantage, OutcomesAreChecked) {
  AdvantageInput input = stepped({{{0, 1.0}}, {{0, 0.0}}}, {2}, {1, 1});
  input.outcome_rewards = doubles({1});
  EXPECT_THROW(advantages_of(input, config_of("grpo_process")), InternalError);
  input.outcome_rewards = doubles({1, INFINITY});
  EXPECT_THROW(advantages_of(input, config_of("grpo_process")), ConfigError);
}

TEST(ProcessAdvantage, AnEmptyCompletionHasNone) {
  // Its step has no token to end with and counts in the statistics.
  const AdvantageOutput result = by_steps(stepped({{{0, 1.0}}, {{1, 0.0}}}, {2}, {0, 2}), "none");
  ASSERT_EQ(result.values.numel(), 2);
  expect_advantages(result.values, {-0.5, -0.5});
}

}  // namespace
}  // namespace cohort
