// Credit by segments from rewards that judge steps.
#include <gtest/gtest.h>

#include <cmath>

#include "cohort/train/step_advantages.h"

namespace cohort {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

// Steps of the two scorable completions: 1 and 0 over tokens [0, 2) and [2, 5), 0 over [0, 3). Their mean is
// 1/3, Bessel's deviation sqrt(1/3).
TEST(SegmentCredit, ATokenHasTheRewardOfItsOwnStep) {
  RolloutGroup group;
  RewardMatrix rewards(3, {"steps"});
  const std::vector<std::vector<StepReward>> steps = {{{2, 1.0}, {9, 0.0}}, {{3, 0.0}}, {{2, 5.0}}};
  TrainedGroup trained{.group = &group, .completions = std::vector<TrainedCompletion>(3)};
  for (int64_t i = 0; i < 3; ++i) {
    group.completions.emplace_back().token_ids.resize(i == 0 ? 5 : 3);
    group.completions.back().sampler_logprobs.resize(i == 0 ? 5 : 3);
    rewards.at(i, 0).steps = steps[i];
  }
  const TotalRewards totals{{2.0, 0.0, kNothing}, {1, 1, 0}};
  const std::vector<TrainedGroup> groups{trained};
  const std::vector<RewardMatrix> all{rewards};
  const std::vector<double> weights{2.0};
  const std::vector<uint8_t> gives_steps{1};
  AdvantageConfig config;
  config.credit = "segments";
  const Advantages advantages = step_advantages({groups, all, weights, gives_steps, totals}, config);
  ASSERT_EQ(advantages.tokens.size(), 3u);
  const double scale = 2.0 * std::sqrt(1.0 / 3.0) + 1e-4, low = -2.0 / 3.0 / scale, high = 4.0 / 3.0 / scale;
  for (int t = 0; t < 5; ++t) EXPECT_NEAR(advantages.tokens[0][t], t < 2 ? high : low, 1e-6) << t;
  for (int t = 0; t < 3; ++t) EXPECT_NEAR(advantages.tokens[1][t], low, 1e-6) << t;
  for (int t = 0; t < 3; ++t) EXPECT_EQ(advantages.tokens[2][t], 0.0f) << t;
  EXPECT_NEAR(advantages.values[0], high, 1e-6);
  EXPECT_NEAR(advantages.reward_mean, 1.0, 1e-12);
  EXPECT_NEAR(advantages.reward_std, std::sqrt(2.0), 1e-12);
}

}  // namespace
}  // namespace cohort
