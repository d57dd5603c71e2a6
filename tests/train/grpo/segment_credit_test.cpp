// Credit by segments from rewards that judge steps.
#include <gtest/gtest.h>

#include <cmath>

#include "cohort/train/grpo/credit.h"
#include "tests/train/batches.h"

namespace cohort {
namespace {

// Steps of the two completions with a reward: 1 and 0 over tokens [0, 2) and [2, 5), 0 over [0, 3). Their
// mean is 1/3, Bessel's deviation sqrt(1/3).
TEST(SegmentCredit, ATokenHasTheRewardOfItsOwnStep) {
  const std::vector<std::vector<StepReward>> steps = {{{2, 1.0}, {9, 0.0}}, {{3, 0.0}}, {{2, 5.0}}};
  const double totals[] = {2.0, 0.0, kNoReward};
  Batch batch;
  batch.reward_names = {"steps"};
  batch.reward_weights = {2.0};
  batch.gives_steps = {1};
  std::vector<Sample>& samples = batch.groups.emplace_back().samples;
  for (size_t i = 0; i < 3; ++i) {
    samples.push_back(sample_of({ok(0.0)}, i == 0 ? 5 : 3));
    samples.back().rewards[0].steps = steps[i];
    samples.back().reward = totals[i];
  }
  AdvantageConfig config;
  config.credit = "segments";
  const RewardSummary summary = assign_credit(batch, config);
  for (const Sample& sample : samples)
    ASSERT_EQ(sample.token_advantages.size(), sample.completion.token_ids.size());
  const double scale = 2.0 * std::sqrt(1.0 / 3.0) + 1e-4, low = -2.0 / 3.0 / scale, high = 4.0 / 3.0 / scale;
  for (int t = 0; t < 5; ++t) EXPECT_NEAR(samples[0].token_advantages[t], t < 2 ? high : low, 1e-6) << t;
  for (int t = 0; t < 3; ++t) EXPECT_NEAR(samples[1].token_advantages[t], low, 1e-6) << t;
  for (int t = 0; t < 3; ++t) EXPECT_EQ(samples[2].token_advantages[t], 0.0f) << t;
  EXPECT_NEAR(samples[0].advantage, high, 1e-6);
  EXPECT_NEAR(summary.mean, 1.0, 1e-12);
  EXPECT_NEAR(summary.std, std::sqrt(2.0), 1e-12);
}

}  // namespace
}  // namespace cohort
