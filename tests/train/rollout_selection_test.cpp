// Which completions a step trains on, and what it leaves out.
#include "cohort/train/rollout_selection.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "cohort/train/scored_rollout.h"

namespace cohort {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
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
  EXPECT_EQ(most_varied(std::vector<double>{kNone, 1, kNone, 0, 1}, 2), (Places{1, 3}));
  EXPECT_EQ(most_varied(std::vector<double>{kNone, 1, kNone, 0, kNone}, 4), (Places{0, 1, 2, 3}));
  EXPECT_EQ(most_varied(std::vector<double>{kNone, 1}, 3), (Places{0, 1}));
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

/// A group for each list of rewards; nan fails.
ScoredRollout rollout_of(const std::vector<std::vector<double>>& groups) {
  ScoredRollout rollout;
  rollout.weights = {2.0};
  for (const std::vector<double>& rewards : groups) {
    Prompt prompt;
    prompt.id = std::to_string(rollout.groups.size());
    rollout.groups.push_back({prompt, {}});
    rollout.rewards.emplace_back(std::ssize(rewards), std::vector<std::string>{"mine"});
    for (int64_t i = 0; i < std::ssize(rewards); ++i) {
      rollout.groups.back().completions.emplace_back().sample = i;
      rollout.rewards.back().at(i, 0) = {rewards[i], RewardStatus::kOk, ""};
      if (std::isnan(rewards[i])) rollout.rewards.back().at(i, 0) = {0.0, RewardStatus::kError, "broken"};
    }
  }
  return rollout;
}

Places samples_of(const RolloutGroup& group) {
  Places samples;
  for (const Completion& completion : group.completions) samples.push_back(completion.sample);
  return samples;
}

TEST(LeaveOutGroups, KeepsTheOrderAndSaysWhy) {
  ScoredRollout rollout = rollout_of({{0, 0}, {1, 0}, {1, 1}, {0, 1}, {0, 1}});
  leave_out_groups({0, 1, 0, 1, 1}, 2, rollout);
  ASSERT_EQ(rollout.groups.size(), 2U);
  ASSERT_EQ(rollout.rewards.size(), 2U);
  EXPECT_EQ(rollout.groups[0].prompt.id, "1");
  EXPECT_EQ(rollout.groups[1].prompt.id, "3");
  EXPECT_EQ(rollout.rewards[0].at(0, 0).score, 1.0);
  std::string reasons;
  for (const UntrainedGroup& other : rollout.untrained)
    reasons += other.group.prompt.id + " " + to_string(other.reason) + ", ";
  EXPECT_EQ(reasons, "0 no_difference, 2 no_difference, 4 surplus, ");
  EXPECT_EQ(drawn_rewards(rollout).size(), 5U);
}

TEST(KeepMostVaried, TakesRewardsAlong) {
  for (const bool others_count : {false, true}) {
    ScoredRollout rollout = rollout_of({{0.5, 1.0}, {0.5, 1.0, kNone, 0.0, 0.25}});
    keep_most_varied(2, others_count, rollout);
    EXPECT_EQ(samples_of(rollout.groups[0]), (Places{0, 1}));
    EXPECT_EQ(samples_of(rollout.groups[1]), (Places{1, 3}));
    EXPECT_EQ(rollout.rewards[1].at(0, 0).score, 1.0);
    EXPECT_EQ(rollout.rewards[1].at(1, 0).score, 0.0);
    ASSERT_EQ(rollout.untrained.size(), 1U);
    const UntrainedGroup& others = rollout.untrained[0];
    EXPECT_EQ(samples_of(others.group), (Places{0, 2, 4}));
    EXPECT_EQ(others.group.prompt.id, "1");
    EXPECT_EQ(others.of, others_count ? 1 : -1);
    EXPECT_EQ(others.rewards.at(1, 0).status, RewardStatus::kError);
    EXPECT_EQ(totals_or_nan(others.rewards, rollout.weights)[2], 0.5);
  }
}

}  // namespace
}  // namespace cohort
