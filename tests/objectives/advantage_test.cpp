// Group-relative advantages of total rewards (GRPO, arXiv:2402.03300 section 4.1.2) by hand and from TRL.
#include <gtest/gtest.h>

#include <cmath>

#include "cohort/core/error.h"
#include "cohort/core/json.h"
#include "cohort/objectives/advantage_algebra.h"
#include "tests/objectives/advantage_examples.h"

namespace cohort {
namespace {

/// The advantages of groups of `group_size` under one scale; all other settings have their defaults.
AdvantageOutput group_relative(const std::vector<double>& rewards, int64_t group_size,
                               const std::string& scale) {
  AdvantageInput input{.rewards = doubles(rewards)};
  for (int64_t end = group_size; end - group_size < std::ssize(rewards); end += group_size)
    input.group_ends.push_back(end);
  AdvantageConfig config;
  config.scale_rewards = scale;
  return advantages_of(input, config);
}

TEST(Advantage, ByHand) {
  // Group {1, 0, 0, 0}: mean 1/4, Bessel variance (9/16 + 3/16) / 3 = 1/4.
  const AdvantageOutput result = group_relative({1, 0, 0, 0}, 4, "group");
  const std::vector<double> values = numbers(result.values);
  // The engine multiplies by a reciprocal, which costs at most one more rounding than the division here.
  EXPECT_DOUBLE_EQ(values[0], 0.75 / (0.5 + 1e-4));
  EXPECT_DOUBLE_EQ(values[1], -0.25 / (0.5 + 1e-4));
  EXPECT_DOUBLE_EQ(result.reward_std, 0.5);
  EXPECT_EQ(result.frac_reward_zero_std, 0.0);
}

TEST(Advantage, AgreesWithTrl) {
  const Json golden = read_json(COHORT_SOURCE_DIR "/tests/objectives/golden/trl.json");
  ASSERT_EQ(golden["advantage_cases"].size(), 3u);
  for (const Json& test : golden["advantage_cases"]) {
    std::vector<double> rewards;
    for (const Json& reward : test["rewards"])
      rewards.push_back(reward.is_null() ? kNoScore : reward.get<double>());
    const AdvantageOutput result =
        group_relative(rewards, test["group_size"].get<int64_t>(), test["scale_rewards"].get<std::string>());
    // TRL computes the Bessel factor in float32.
    expect_advantages(result.values, test["advantages"].get<std::vector<double>>(), 1e-7);
    EXPECT_NEAR(result.reward_mean, test["reward_mean"].get<double>(), 1e-12);
    EXPECT_NEAR(result.reward_std, test["reward_std"].get<double>(), 1e-7);
  }
}

TEST(Advantage, EqualRewardsGiveExactlyZero) {
  // 0.7 summed sixteen times and divided by 16 is not 0.7; the second group differs by one unit in the last
  // place.
  std::vector<double> rewards(32, 0.7);
  rewards[20] = std::nextafter(0.7, 1.0);
  for (const char* scale : {"group", "batch", "none"}) {
    const AdvantageOutput result = group_relative(rewards, 16, scale);
    const std::vector<double> values = numbers(result.values);
    EXPECT_EQ(result.has_no_difference, (std::vector<uint8_t>{1, 0}));
    EXPECT_EQ(result.frac_reward_zero_std, 0.5);
    for (int i = 0; i < 16; ++i) EXPECT_EQ(values[i], 0.0);
    EXPECT_GT(values[20], 0.0);
  }
}

TEST(Advantage, CompletionsWithoutARewardAreLeftOut) {
  const AdvantageOutput result =
      group_relative({1, 3, kNoScore, kNoScore, 5, kNoScore, kNoScore, kNoScore}, 4, "none");
  EXPECT_EQ(numbers(result.values), (std::vector<double>{-1, 1, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(result.has_no_difference,
            (std::vector<uint8_t>{0, 1}));  // a single scorable completion has nothing to beat
  EXPECT_DOUBLE_EQ(result.reward_mean, 3.0);
  EXPECT_DOUBLE_EQ(result.reward_std, 2.0);
}

TEST(Advantage, NothingScorable) {
  const AdvantageOutput result = group_relative({kNoScore, kNoScore}, 2, "batch");
  EXPECT_EQ(numbers(result.values), (std::vector<double>{0, 0}));
  EXPECT_EQ(result.frac_reward_zero_std, 1.0);
  EXPECT_EQ(result.reward_std, 0.0);
}

TEST(Advantage, GroupsMustBeWhole) {
  EXPECT_THROW(group_relative({1, 2, 3}, 2, "group"), InternalError);
  ObjectiveSettings settings;
  EXPECT_THROW(set_objective_key(settings, "scale_rewards", "groups"), ConfigError);
}

}  // namespace
}  // namespace cohort
