// Which completions a step trains on, and what it leaves out.
#include "cohort/train/grpo/rollout_selection.h"

#include <gtest/gtest.h>

#include <bit>

#include "tests/train/batches.h"

namespace cohort {
namespace {

using Places = std::vector<int64_t>;

double variance(const std::vector<double>& values) {
  double mean = 0.0, squares = 0.0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  for (const double value : values) squares += (value - mean) * (value - mean);
  return squares;
}

/// The largest variance of all subsets of `count` numbers.
double largest_variance(const std::vector<double>& rewards, int count) {
  double largest = 0.0;
  for (unsigned subset = 0; subset < 1U << rewards.size(); ++subset) {
    if (std::popcount(subset) != count) continue;
    std::vector<double> chosen;
    for (size_t i = 0; i < rewards.size(); ++i) {
      if (subset >> i & 1U) chosen.push_back(rewards[i]);
    }
    largest = std::max(largest, variance(chosen));
  }
  return largest;
}

TEST(MostVaried, IsTheBestOfAllSubsets) {
  const std::vector<std::vector<double>> groups{{0.3, 0.1, 0.9, 0.4, 0.8, 0.2, 0.55},
                                                {5.0, -1.0, -1.1, -0.9, -1.0, 0.0, 0.1},
                                                {1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0},
                                                {-3.0, 2.0, 2.0, 2.5, 1.5, 2.0, 7.0}};
  for (const std::vector<double>& rewards : groups) {
    for (int count = 2; count < 7; ++count) {
      std::vector<double> chosen;
      for (const int64_t place : most_varied(rewards, count)) chosen.push_back(rewards[place]);
      ASSERT_EQ(std::ssize(chosen), count);
      EXPECT_NEAR(variance(chosen), largest_variance(rewards, count), 1e-12) << count;
    }
  }
}

TEST(MostVaried, TakesTheFirstOfEqualOnes) {
  EXPECT_EQ(most_varied(std::vector<double>{1, 0, 1, 0, 1, 0}, 4), (Places{0, 1, 2, 3}));
  EXPECT_EQ(most_varied(std::vector<double>{1, 0, 1, 0, 1, 0}, 3), (Places{0, 1, 3}));  // one high, two low
  EXPECT_EQ(most_varied(std::vector<double>{0, 0, 0, 0, 1, 0}, 4), (Places{0, 1, 2, 4}));
  EXPECT_EQ(most_varied(std::vector<double>{1, 1, 0, 1, 1, 1}, 4), (Places{0, 1, 2, 3}));
  EXPECT_EQ(most_varied(std::vector<double>{0.5, 0.5, 0.5}, 2), (Places{0, 1}));
  EXPECT_EQ(most_varied(std::vector<double>{0, 2, 1, 2}, 2), (Places{0, 1}));
}

TEST(MostVaried, TakesWhatHasNoRewardLast) {
  EXPECT_EQ(most_varied(std::vector<double>{kNoReward, 1, kNoReward, 0, 1}, 2), (Places{1, 3}));
  EXPECT_EQ(most_varied(std::vector<double>{kNoReward, 1, kNoReward, 0, kNoReward}, 4), (Places{0, 1, 2, 3}));
  EXPECT_EQ(most_varied(std::vector<double>{kNoReward, 1}, 3), (Places{0, 1}));
}

TEST(AdaptiveSampling, EndsWhenAPromptHasEnough) {
  EXPECT_TRUE(is_settled("balanced", 2, 2, 4));
  EXPECT_FALSE(is_settled("balanced", 7, 1, 4));
  EXPECT_FALSE(is_settled("balanced", 1, 7, 4));
  EXPECT_TRUE(is_settled("balanced", 2, 3, 5));
  EXPECT_FALSE(is_settled("balanced", 3, 2, 5));
  EXPECT_TRUE(is_settled("positive_focused", 1, 0, 4));
  EXPECT_FALSE(is_settled("positive_focused", 0, 32, 4));
}

TEST(DynamicSampling, TakesTheFirstThatDifferAndFillsUp) {
  using Flags = std::vector<uint8_t>;
  EXPECT_EQ(groups_to_train_on(Flags{0, 1, 0, 1, 1}, 2), (Places{1, 3}));
  EXPECT_EQ(groups_to_train_on(Flags{0, 1, 0, 1, 0}, 3), (Places{0, 1, 3}));
  EXPECT_EQ(groups_to_train_on(Flags{0, 0}, 2), (Places{0, 1}));
}

TEST(DynamicSampling, DrawsAsManyPromptsAsItExpectsToNeed) {
  EXPECT_EQ(prompts_to_draw(8, 8, 8), 0);
  EXPECT_EQ(prompts_to_draw(12, 9, 8), 0);
  EXPECT_EQ(prompts_to_draw(8, 6, 8), 3);  // 2 * 8 / 6 = 2.67
  EXPECT_EQ(prompts_to_draw(8, 2, 8), 8);  // 24, but no more than a step's
  EXPECT_EQ(prompts_to_draw(8, 0, 8), 8);
}

/// A step of groups with these rewards, of weight 2; nan: the reward function failed.
Batch weighted_step(const std::vector<std::vector<double>>& scores) {
  return batch_of(groups_of(scores), {"mine"}, {2.0});
}

Places samples_of(const Group& group) {
  Places samples;
  for (const Sample& sample : group.samples) samples.push_back(sample.completion.sample);
  return samples;
}

TEST(LeaveOutGroups, KeepsTheOrderAndSaysWhy) {
  Batch batch = weighted_step({{0, 0}, {1, 0}, {1, 1}, {0, 1}, {0, 1}});
  leave_out_groups({0, 1, 0, 1, 1}, 2, batch);
  ASSERT_EQ(batch.groups.size(), 2U);
  EXPECT_EQ(batch.groups[0].prompt.id, "1");
  EXPECT_EQ(batch.groups[1].prompt.id, "3");
  EXPECT_EQ(batch.groups[0].samples[0].rewards[0].score, 1.0);
  std::string reasons;
  for (const UntrainedGroup& other : batch.untrained) {
    reasons += other.group.prompt.id + " " + to_string(other.reason) + ", ";
    EXPECT_EQ(other.group.samples.size(), 2U);
    EXPECT_EQ(other.of, -1);
  }
  EXPECT_EQ(reasons, "0 no_difference, 2 no_difference, 4 surplus, ");
}

TEST(KeepMostVaried, TakesRewardsAlong) {
  for (const bool others_count : {false, true}) {
    Batch batch = weighted_step({{0.5, 1.0}, {0.5, 1.0, kNoReward, 0.0, 0.25}});
    keep_most_varied(2, others_count, batch);
    EXPECT_EQ(samples_of(batch.groups[0]), (Places{0, 1}));
    EXPECT_EQ(samples_of(batch.groups[1]), (Places{1, 3}));
    EXPECT_EQ(batch.groups[1].samples[0].rewards[0].score, 1.0);
    EXPECT_EQ(batch.groups[1].samples[1].rewards[0].score, 0.0);
    ASSERT_EQ(batch.untrained.size(), 1U);
    const UntrainedGroup& others = batch.untrained[0];
    EXPECT_EQ(samples_of(others.group), (Places{0, 2, 4}));
    EXPECT_EQ(others.group.prompt.id, "1");
    EXPECT_EQ(others.of, others_count ? 1 : -1);
    EXPECT_EQ(others.group.samples[1].rewards[0].status, RewardStatus::kError);
    EXPECT_EQ(others.group.samples[2].reward, 0.5);
  }
}

}  // namespace
}  // namespace cohort
