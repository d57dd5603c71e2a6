#include "cohort/objectives/advantage.h"

#include <gtest/gtest.h>

#include <cmath>

#include "cohort/core/json.h"

namespace cohort {
namespace {

TotalRewards all_valid(std::vector<double> values) {
  std::vector<uint8_t> valid(values.size(), 1);
  return {std::move(values), std::move(valid)};
}

TEST(Advantage, ByHand) {
  // Group {1, 0, 0, 0}: mean 1/4, Bessel variance (9/16 + 3/16) / 3 = 1/4.
  const Advantages result = group_advantages(all_valid({1, 0, 0, 0}), 4, ScaleRewards::kGroup);
  EXPECT_DOUBLE_EQ(result.values[0], 0.75 / (0.5 + 1e-4));
  EXPECT_DOUBLE_EQ(result.values[1], -0.25 / (0.5 + 1e-4));
  EXPECT_DOUBLE_EQ(result.reward_std, 0.5);
  EXPECT_EQ(result.frac_reward_zero_std, 0.0);
}

TEST(Advantage, AgreesWithTrl) {
  const Json golden = read_json(COHORT_SOURCE_DIR "/tests/objectives/golden/trl.json");
  ASSERT_EQ(golden["advantage_cases"].size(), 3u);
  for (const Json& test : golden["advantage_cases"]) {
    TotalRewards rewards;
    for (const Json& reward : test["rewards"]) {
      rewards.valid.push_back(!reward.is_null());
      rewards.values.push_back(reward.is_null() ? 1e30 : reward.get<double>());
    }
    const Advantages result = group_advantages(rewards, test["group_size"].get<int64_t>(),
                                               parse_scale_rewards(test["scale_rewards"].get<std::string>()));
    const auto expected = test["advantages"].get<std::vector<double>>();
    ASSERT_EQ(result.values.size(), expected.size());
    // TRL computes the Bessel factor in float32.
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(result.values[i], expected[i], 1e-7);
    EXPECT_NEAR(result.reward_mean, test["reward_mean"].get<double>(), 1e-12);
    EXPECT_NEAR(result.reward_std, test["reward_std"].get<double>(), 1e-7);
  }
}

TEST(Advantage, EqualRewardsGiveExactlyZero) {
  // 0.7 summed sixteen times and divided by 16 is not 0.7; the second group differs by one unit in the last
  // place.
  std::vector<double> values(32, 0.7);
  values[20] = std::nextafter(0.7, 1.0);
  for (ScaleRewards scale : {ScaleRewards::kGroup, ScaleRewards::kBatch, ScaleRewards::kNone}) {
    const Advantages result = group_advantages(all_valid(values), 16, scale);
    EXPECT_EQ(result.zero_std, (std::vector<uint8_t>{1, 0}));
    EXPECT_EQ(result.frac_reward_zero_std, 0.5);
    for (int i = 0; i < 16; ++i) EXPECT_EQ(result.values[i], 0.0);
    EXPECT_GT(result.values[20], 0.0);
  }
}

TEST(Advantage, InvalidCompletionsAreLeftOut) {
  TotalRewards rewards = all_valid({1, 3, 100, 5, 5, -7, 2, 2});
  rewards.valid = {1, 1, 0, 0, 1, 0, 0, 0};
  const Advantages result = group_advantages(rewards, 4, ScaleRewards::kNone);
  EXPECT_EQ(result.values, (std::vector<double>{-1, 1, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(result.zero_std,
            (std::vector<uint8_t>{0, 1}));  // a single scorable completion has nothing to beat
  EXPECT_DOUBLE_EQ(result.reward_mean, 3.0);
  EXPECT_DOUBLE_EQ(result.reward_std, 2.0);
}

TEST(Advantage, NothingScorable) {
  const Advantages result = group_advantages({{4, 5}, {0, 0}}, 2, ScaleRewards::kBatch);
  EXPECT_EQ(result.values, (std::vector<double>{0, 0}));
  EXPECT_EQ(result.frac_reward_zero_std, 1.0);
  EXPECT_EQ(result.reward_std, 0.0);
}

TEST(Advantage, GroupsMustBeWhole) {
  EXPECT_THROW(group_advantages(all_valid({1, 2, 3}), 2, ScaleRewards::kGroup), InternalError);
  EXPECT_THROW(parse_scale_rewards("groups"), ConfigError);
}

TEST(TotalRewards, FailuresAreNeverZero) {
  RewardMatrix rewards(6, {"accuracy", "format"});
  for (int i = 0; i < 6; ++i) {
    rewards.at(i, 0).score = 1.0;
    rewards.at(i, 1).score = 0.5;
  }
  rewards.at(1, 0).status = RewardStatus::kTimeout;
  rewards.at(2, 0).status = RewardStatus::kSkipped;
  rewards.at(3, 0).status = rewards.at(3, 1).status = RewardStatus::kSkipped;
  rewards.at(4, 1).score = std::nan("");
  rewards.at(5, 1).status = RewardStatus::kUnparsed;
  TotalRewards totals;
  append_total_rewards(rewards, std::vector<double>{2.0, 10.0}, totals);
  EXPECT_EQ(totals.valid, (std::vector<uint8_t>{1, 0, 1, 0, 0, 0}));
  EXPECT_EQ(totals.values[0], 7.0);
  EXPECT_EQ(totals.values[2], 5.0);
  // A reward of weight 0 is only logged.
  append_total_rewards(rewards, std::vector<double>{2.0, 0.0}, totals);
  EXPECT_EQ(totals.valid, (std::vector<uint8_t>{1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1}));
}

}  // namespace
}  // namespace cohort
