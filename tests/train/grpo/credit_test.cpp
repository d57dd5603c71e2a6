// Credit: advantages from rewards, also from those of samples that are not trained on.
#include "cohort/train/grpo/credit.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/train/batches.h"

namespace cohort {
namespace {

/// A step of groups with these rewards. It has drawn `untrained` too. nan: the reward function failed.
Batch step_with(const std::vector<std::vector<double>>& scores, std::vector<UntrainedGroup> untrained = {}) {
  Batch batch = batch_of(groups_of(scores));
  batch.untrained = std::move(untrained);
  return batch;
}

UntrainedGroup others_of(const std::vector<double>& scores, Untrained reason, int64_t of) {
  return {group_of(scores), reason, of};
}

/// Centred on the group's mean alone.
AdvantageConfig centred() {
  AdvantageConfig config;
  config.scale_rewards = "none";
  return config;
}

void expect_advantages(const Batch& batch, const std::vector<double>& expected) {
  ASSERT_EQ(num_samples(batch.groups), std::ssize(expected));
  size_t i = 0;
  for_each_sample(batch.groups, [&](const Sample& sample) {
    EXPECT_NEAR(sample.advantage, expected[i], 1e-12) << i;
    EXPECT_TRUE(sample.token_advantages.empty()) << i;
    ++i;
  });
}

// Reinforce-Ada: mean and deviation of 1, 0, 0, 0 are 1/4 and 1/2, of 0, 1, 1 2/3 and 1/sqrt(3).
TEST(Credit, IsAgainstAllThatWasDrawn) {
  Batch batch =
      step_with({{1, 0}, {0, 1}},
                {others_of({0, kNoReward, 0}, Untrained::kNotKept, 0), others_of({1}, Untrained::kNotKept, 1),
                 others_of({5, 6}, Untrained::kNotKept, -1), others_of({8, 9}, Untrained::kSurplus, -1)});
  AdvantageConfig config = centred();
  const RewardSummary summary = assign_credit(batch, config);
  expect_advantages(batch, {0.75, -0.25, -2.0 / 3.0, 1.0 / 3.0});
  EXPECT_EQ(summary.mean, 0.5);
  EXPECT_NEAR(summary.std, std::sqrt(1.0 / 3.0), 1e-12);
  config.scale_rewards = "group";
  const double third = std::sqrt(1.0 / 3.0) + 1e-4;
  assign_credit(batch, config);
  expect_advantages(batch, {0.75 / 0.5001, -0.25 / 0.5001, -2.0 / 3.0 / third, 1.0 / 3.0 / third});
}

// Rewards 1, 0, 0 have the mean 1/3; with the branches counted it would be 1/2 or more.
TEST(Credit, CountsAnEpisodeOnceAndSharesItsAdvantage) {
  Batch batch = step_with({{1, 0, 0}});
  Sample& first = batch.groups[0].samples[0];
  const Sample branch = first;
  first.branches = {branch, branch};
  const RewardSummary summary = assign_credit(batch, centred());
  expect_advantages(batch, {2.0 / 3.0, -1.0 / 3.0, -1.0 / 3.0});
  for (const Sample& each : first.branches) EXPECT_NEAR(each.advantage, 2.0 / 3.0, 1e-12);
  EXPECT_NEAR(summary.mean, 1.0 / 3.0, 1e-12);
  EXPECT_EQ(group_ends_of(batch.groups), (std::vector<int64_t>{5}));
  const auto counts = [](const at::Tensor& rewards, const at::Tensor& groups) {
    EXPECT_EQ(rewards.size(0), 3);
    EXPECT_EQ(groups.size(0), 3);
    return rewards * 2.0;
  };
  assign_credit(batch, centred(), counts);
  expect_advantages(batch, {2.0, 0.0, 0.0});
  for (const Sample& each : first.branches) EXPECT_EQ(each.advantage, 2.0);
}

// The third leaves the first after one segment, the fourth the third after two.
TEST(Credit, ComparesTheCompletionsOfSubtrees) {
  Batch batch = step_with({{1, 0}, {1, 0, 0, 1}});
  batch.groups[1].samples[2].fork = {.of = 0, .num_segments = 1, .num_tokens = 5};
  batch.groups[1].samples[3].fork = {.of = 2, .num_segments = 2, .num_tokens = 10};
  AdvantageConfig config = centred();
  config.baseline = "subtrees";
  assign_credit(batch, config);
  expect_advantages(batch, {0.5, -0.5, 5.0 / 12, -0.5, -5.0 / 9, 4.0 / 9});
}

// All that are kept are positive: against the kept ones alone nothing would be learnt.
TEST(Credit, DiffersIfOnlyTheOthersDo) {
  Batch batch = step_with({{1, 1}}, {others_of({0, 0}, Untrained::kNotKept, 0)});
  assign_credit(batch, centred());
  expect_advantages(batch, {0.5, 0.5});
  EXPECT_FALSE(batch.groups[0].has_no_difference);
  Batch alone = step_with({{1, 1}});
  assign_credit(alone, centred());
  EXPECT_TRUE(alone.groups[0].has_no_difference);
}

TEST(Credit, OfEachRewardIsAgainstAllThatWasDrawn) {
  AdvantageConfig config = centred();
  config.multi_objective_aggregation = "normalize_then_sum";
  Batch batch = step_with({{1, 0}}, {others_of({0, 0}, Untrained::kNotKept, 0)});
  assign_credit(batch, config);
  expect_advantages(batch, {0.75, -0.25});
}

// ReMax, arXiv:2310.10505 section 3: the reward minus the greedy completion's.
TEST(Credit, IsAgainstTheGreedyCompletion) {
  AdvantageConfig config = centred();
  config.baseline = "greedy";
  Batch batch =
      step_with({{1, 0, kNoReward}, {1, 0, 0}, {0, 0, 0}},
                {others_of({0.25}, Untrained::kGreedy, 0), others_of({kNoReward}, Untrained::kGreedy, 1),
                 others_of({1}, Untrained::kGreedy, 2)});
  assign_credit(batch, config);
  expect_advantages(batch, {0.75, -0.25, 0, 0, 0, 0, -1, -1, -1});
}

// The completions have 1, 2 and 3 tokens: the shortest are kept.
TEST(Credit, KeepsAsManyAsTheDifficultySays) {
  AdvantageConfig config = centred();
  config.gfpo_k = 3;
  Batch batch = step_with({{1, 0, 0.5}, {1, 0, 0.5}});
  batch.groups[0].num_kept = 2;
  batch.groups[1].num_kept = 3;
  assign_credit(batch, config);
  expect_advantages(batch, {0.5, -0.5, 0, 0.5, -0.5, 0});
  Batch one = step_with({{1, 0, 1}});
  one.groups[0].num_kept = 2;
  assign_credit(one, config);
  expect_advantages(one, {0.5, -0.5, 0});
}

}  // namespace
}  // namespace cohort
