// Advantages against rewards of completions that are not trained on.
#include "cohort/train/step_advantages.h"

#include <gtest/gtest.h>

#include <cmath>

namespace cohort {
namespace {

constexpr double kFailed = std::numeric_limits<double>::quiet_NaN();

RewardMatrix column_of(const std::vector<double>& scores) {
  RewardMatrix matrix(std::ssize(scores), {"mine"});
  for (int64_t i = 0; i < matrix.num_completions(); ++i) {
    matrix.at(i, 0) = {scores[i], RewardStatus::kOk, ""};
    if (std::isnan(scores[i])) matrix.at(i, 0) = {0.0, RewardStatus::kError, "broken"};
  }
  return matrix;
}

RolloutGroup completions_of(size_t count) {
  RolloutGroup group;
  group.completions.resize(count);
  for (size_t i = 0; i < count; ++i) {
    group.completions[i].token_ids.assign(i + 1, 7);
    group.completions[i].sampler_logprobs.assign(i + 1, -1.0F);
  }
  return group;
}

/// The advantages of groups with these rewards, in a step with these completions besides.
Advantages advantages_with(const std::vector<std::vector<double>>& scores,
                           const std::vector<UntrainedGroup>& untrained, const AdvantageConfig& config,
                           const std::vector<int64_t>& group_k = {}) {
  const std::vector<double> weights{1.0};
  const std::vector<uint8_t> gives_steps{0};
  std::vector<RolloutGroup> groups;
  std::vector<RewardMatrix> rewards;
  std::vector<TrainedGroup> trained;
  TotalRewards totals;
  groups.reserve(scores.size());
  for (const std::vector<double>& group : scores) {
    groups.push_back(completions_of(group.size()));
    rewards.push_back(column_of(group));
    trained.push_back({&groups.back(), std::vector<TrainedCompletion>(group.size())});
    append_total_rewards(rewards.back(), weights, totals);
  }
  return step_advantages({trained, rewards, weights, gives_steps, totals, untrained, group_k}, config);
}

UntrainedGroup others_of(const std::vector<double>& scores, Untrained reason, int64_t of) {
  return {completions_of(scores.size()), column_of(scores), reason, of};
}

/// Centred on the group's mean alone.
AdvantageConfig centred() {
  AdvantageConfig config;
  config.scale_rewards = "none";
  return config;
}

void expect_near(const std::vector<double>& values, const std::vector<double>& expected) {
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], 1e-12) << i;
}

// Reinforce-Ada: mean and deviation of 1, 0, 0, 0 are 1/4 and 1/2, of 0, 1, 1 2/3 and 1/sqrt(3).
TEST(StepAdvantages, AreAgainstAllThatWasDrawn) {
  const std::vector<UntrainedGroup> pool{
      others_of({0, kFailed, 0}, Untrained::kNotKept, 0), others_of({1}, Untrained::kNotKept, 1),
      others_of({5, 6}, Untrained::kNotKept, -1), others_of({8, 9}, Untrained::kSurplus, -1)};
  AdvantageConfig config = centred();
  Advantages advantages = advantages_with({{1, 0}, {0, 1}}, pool, config);
  expect_near(advantages.values, {0.75, -0.25, -2.0 / 3.0, 1.0 / 3.0});
  EXPECT_EQ(advantages.reward_mean, 0.5);
  EXPECT_NEAR(advantages.reward_std, std::sqrt(1.0 / 3.0), 1e-12);
  config.scale_rewards = "group";
  const double third = std::sqrt(1.0 / 3.0) + 1e-4;
  advantages = advantages_with({{1, 0}, {0, 1}}, pool, config);
  expect_near(advantages.values, {0.75 / 0.5001, -0.25 / 0.5001, -2.0 / 3.0 / third, 1.0 / 3.0 / third});
}

// All that are kept are positive: against the kept ones alone nothing would be learnt.
TEST(StepAdvantages, DifferWhereOnlyTheOthersDo) {
  const std::vector<UntrainedGroup> pool{others_of({0, 0}, Untrained::kNotKept, 0)};
  const Advantages advantages = advantages_with({{1, 1}}, pool, centred());
  expect_near(advantages.values, {0.5, 0.5});
  EXPECT_EQ(advantages.zero_std[0], 0);
  EXPECT_EQ(advantages_with({{1, 1}}, {}, centred()).zero_std[0], 1);
}

TEST(StepAdvantages, OfEachRewardAreAgainstAllThatWasDrawn) {
  AdvantageConfig config = centred();
  config.multi_objective_aggregation = "normalize_then_sum";
  const std::vector<UntrainedGroup> pool{others_of({0, 0}, Untrained::kNotKept, 0)};
  expect_near(advantages_with({{1, 0}}, pool, config).values, {0.75, -0.25});
}

// ReMax, arXiv:2310.10505 section 3: the reward minus the greedy completion's.
TEST(StepAdvantages, AreAgainstTheGreedyCompletion) {
  AdvantageConfig config = centred();
  config.baseline = "greedy";
  const std::vector<UntrainedGroup> greedy{others_of({0.25}, Untrained::kGreedy, 0),
                                           others_of({kFailed}, Untrained::kGreedy, 1),
                                           others_of({1}, Untrained::kGreedy, 2)};
  const Advantages advantages = advantages_with({{1, 0, kFailed}, {1, 0, 0}, {0, 0, 0}}, greedy, config);
  expect_near(advantages.values, {0.75, -0.25, 0, 0, 0, 0, -1, -1, -1});
}

// The completions have 1, 2 and 3 tokens: the shortest are kept.
TEST(StepAdvantages, KeepAsManyAsTheDifficultySays) {
  AdvantageConfig config = centred();
  config.gfpo_k = 3;
  const Advantages advantages = advantages_with({{1, 0, 0.5}, {1, 0, 0.5}}, {}, config, {2, 3});
  expect_near(advantages.values, {0.5, -0.5, 0, 0.5, -0.5, 0});
  expect_near(advantages_with({{1, 0, 1}}, {}, config, {2}).values, {0.5, -0.5, 0});
}

}  // namespace
}  // namespace cohort
