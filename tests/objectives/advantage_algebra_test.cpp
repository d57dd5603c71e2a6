// The composition of advantages by hand, from the papers' formulas.
#include "cohort/objectives/advantage_algebra.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/objectives/advantage_examples.h"

namespace cohort {
namespace {

TEST(AdvantageAlgebra, SegmentsAndStepsReadTheSameRewards) {
  AdvantageInput input{
      .rewards = doubles({1, 0, 3, kNoScore}).view({2, 2}), .group_ends = {2}, .lengths = {3, 2}};
  input.step_ends = at::tensor({0, 2, 1, -1}, at::kLong).view({2, 2});
  AdvantageConfig config = config_of("grpo_process");
  config.scale_rewards = "none";  // mean of 1, 0 and 3: 4/3
  const double a = -1.0 / 3, b = -4.0 / 3, c = 5.0 / 3;
  expect_advantages(advantages_of(input, config).values, {a + b, b, b, c, c});
  config.credit = "segments";
  expect_advantages(advantages_of(input, config).values, {a, b, b, c, c});
  config.credit = "steps";
  config.gamma = 0.5;
  expect_advantages(advantages_of(input, config).values, {a + 0.5 * b, b, b, c, c});
}

TEST(AdvantageAlgebra, StepsWithoutRewardOrEndTakeNoPart) {
  AdvantageInput input{
      .rewards = doubles({1, kNoScore, 9, 0}).view({2, 2}), .group_ends = {2}, .lengths = {2, 2}};
  input.step_ends = at::tensor({0, 1, -1, 1}, at::kLong).view({2, 2});
  AdvantageConfig config = config_of("grpo_process");
  config.scale_rewards = "none";  // 1 and 0
  expect_advantages(advantages_of(input, config).values, {0.5, 0, -0.5, -0.5});
}

TEST(AdvantageAlgebra, TurnsWithSharedStates) {
  AdvantageInput input{.rewards = doubles({0, 1, 0, 0}).view({2, 2}), .group_ends = {2}, .lengths = {3, 2}};
  input.step_ends = at::tensor({0, 2, 0, 1}, at::kLong).view({2, 2});
  input.step_states = at::tensor({0, 1, 0, 2}, at::kLong).view({2, 2});
  AdvantageConfig config;
  config.baseline = "state_group";
  config.credit = "turns";
  config.gamma = 0.5;
  config.scale_rewards = "none";
  expect_advantages(advantages_of(input, config).values, {0.25, 0, 0, -0.25, 0});
  config.scale_rewards = "group";
  config.scale_epsilon = 0.0;
  const double std = std::sqrt(2.0 * 0.0625 / 3.0);
  expect_advantages(advantages_of(input, config).values, {0.25 / std, 0, 0, -0.25 / std, 0});
}

TEST(AdvantageAlgebra, GiGpoAddsEpisodesAndTheirSteps) {
  // The first group: rewards 0, 1 and 0.5, 0 of two steps each, which begin in one state, go on in others.
  // Episodes 1 and 0.5, mean 0.75; returns with gamma 0.5 are 0.5, 1 and 0.5, 0: the first steps do not
  // differ. The second group: 0, 1 and 0, 0, returns 0.5, 1 and 0, 0, whose states are 0, 1 and 0, 1.
  AdvantageInput input{.rewards = doubles({0, 1, 0.5, 0, 0, 1, 0, 0}).view({4, 2}),
                       .group_ends = {2, 4},
                       .lengths = {3, 2, 2, 3}};
  input.step_ends = at::tensor({0, 2, 0, 1, 0, 1, 1, 2}, at::kLong).view({4, 2});
  input.step_states = at::tensor({0, 1, 0, 2, 0, 1, 0, 1}, at::kLong).view({4, 2});
  AdvantageConfig config = config_of("gigpo");
  EXPECT_EQ(config.gamma, 0.95);
  config.gamma = 0.5;
  config.scale_rewards = "none";
  config.gigpo_omega = 2.0;
  const AdvantageOutput output = advantages_of(input, config);
  expect_advantages(output.values,
                    {0.25, 0.25, 0.25, -0.25, -0.25,  // A^E alone
                     0.5 + 2 * 0.25, 0.5 + 2 * 0.5, -0.5 - 2 * 0.25, -0.5 - 2 * 0.25, -0.5 - 2 * 0.5});
  EXPECT_EQ(output.has_no_difference, (std::vector<uint8_t>{0, 0}));
  // Whole rewards stand for the sums where they are given.
  input.outcome_rewards = doubles({3, 1, 0, 0});
  expect_advantages(advantages_of(input, config).values, {1, 1, 1, -1, -1, 0.5, 1, -0.5, -0.5, -1});
  // F_norm = std: two numbers lie 1 / sqrt(2) deviations from their mean.
  config = config_of("gigpo");
  config.gamma = 0.5;
  config.scale_epsilon = 0.0;
  const double root = std::sqrt(0.5);
  expect_advantages(advantages_of(input, config).values,
                    {root, root, root, -root, -root, root, root, -root, -root, -root});
}

TEST(AdvantageAlgebra, GiGpoHasNothingToLearnFromEqualEpisodes) {
  AdvantageInput input{.rewards = doubles({0, 1, 0, 1}).view({2, 2}), .group_ends = {2}, .lengths = {2, 2}};
  input.step_ends = at::tensor({0, 1, 0, 1}, at::kLong).view({2, 2});
  input.step_states = at::tensor({0, 1, 0, 1}, at::kLong).view({2, 2});
  AdvantageOutput output = advantages_of(input, config_of("gigpo"));
  EXPECT_EQ(output.has_no_difference, (std::vector<uint8_t>{1}));
  EXPECT_EQ(numbers(output.values), (std::vector<double>{0, 0, 0, 0}));
  // One state alone: the first step's return is 0.95, the second's 1, and the episodes are equal.
  input.step_states.zero_();
  AdvantageConfig config = config_of("gigpo");
  config.scale_rewards = "none";
  output = advantages_of(input, config);
  EXPECT_EQ(output.has_no_difference, (std::vector<uint8_t>{0}));
  expect_advantages(output.values, {-0.025, 0.025, -0.025, 0.025});
  input.step_states.reset();
  EXPECT_THROW(advantages_of(input, config), ConfigError);
}

TEST(AdvantageAlgebra, SeveralRewardsAreSummedOrNormalisedFirst) {
  AdvantageInput input{.rewards = doubles({1, 10, 0, 30, kNoScore, 20, kNoScore, kNoScore}).view({4, 2}),
                       .group_ends = {4}};
  input.reward_weights = {2.0, 0.1};
  AdvantageConfig config;
  config.scale_rewards = "none";
  // Sums 3, 3 and 2, mean 8/3; nothing is known of the last.
  expect_advantages(advantages_of(input, config).values, {1.0 / 3, 1.0 / 3, -2.0 / 3, 0});
  config = config_of("mo_grpo");
  config.scale_epsilon = 0.0;
  // First: 1 and 0, +-sqrt(1/2). Second: 10, 30 and 20, -1, 1 and 0.
  const double root = 2.0 * std::sqrt(0.5);
  expect_advantages(advantages_of(input, config).values, {root - 0.1, -root + 0.1, 0, 0});
  // Whitened: the three numbers' mean is 0 and their variance (2 (root - 0.1)^2) / 2.
  config.batch_whiten = true;
  expect_advantages(advantages_of(input, config).values, {1, -1, 0, 0});
}

TEST(AdvantageAlgebra, WeightsOfZeroTakeARewardOut) {
  AdvantageInput input{.rewards = doubles({1, 5, kNoScore, 7, 0, 9}).view({3, 2}), .group_ends = {3}};
  input.reward_weights = {1.0, 0.0};
  AdvantageConfig config;
  config.scale_rewards = "none";
  expect_advantages(advantages_of(input, config).values, {0.5, 0, -0.5});
  config.multi_objective_aggregation = "normalize_then_sum";
  expect_advantages(advantages_of(input, config).values, {0.5, 0, -0.5});
}

TEST(AdvantageAlgebra, KlInTheRewardOfACompletion) {
  AdvantageInput input{.rewards = doubles({1, 0}), .group_ends = {2}, .lengths = {2, 1}};
  input.old_logprobs = doubles({-1, -2, -1});
  input.ref_logprobs = doubles({-1.5, -1, -3});
  AdvantageConfig config = config_of("rloo");
  expect_advantages(advantages_of(input, config).values, {1, -1});
  config.beta = 0.1;
  // 1 - 0.1 (0.5 - 1) = 1.05 and 0 - 0.1 * 2 = -0.2.
  expect_advantages(advantages_of(input, config).values, {1.25, -1.25});
  config.kl_place = "loss";
  expect_advantages(advantages_of(input, config).values, {1, -1});
}

TEST(AdvantageAlgebra, ReinforcePlusPlus) {
  AdvantageInput input{.rewards = doubles({1, 0, kNoScore}), .group_ends = {1, 3}, .lengths = {2, 1, 2}};
  input.old_logprobs = doubles({-1, -2, -1, -9, -9});
  input.ref_logprobs = doubles({-1.5, -1, -3, -1, -1});
  AdvantageConfig config = config_of("reinforce_pp");
  config.beta = 0.1;
  config.gamma = 0.5;
  config.token_whiten = false;
  // Token rewards -0.05, 1 + 0.1 | -0.2.
  expect_advantages(advantages_of(input, config).values, {0.5, 1.1, -0.2, 0, 0});
  config.token_whiten = true;
  config.scale_epsilon = 0.0;
  const double mean = 1.4 / 3;
  const double squares = std::pow(0.5 - mean, 2) + std::pow(1.1 - mean, 2) + std::pow(-0.2 - mean, 2);
  const double std = std::sqrt(squares / 2.0);
  expect_advantages(advantages_of(input, config).values,
                    {(0.5 - mean) / std, (1.1 - mean) / std, (-0.2 - mean) / std, 0, 0});
}

TEST(AdvantageAlgebra, GroupsWithoutDifferencePayTheirKl) {
  AdvantageInput input{.rewards = doubles({1, 1}), .group_ends = {2}, .lengths = {2, 1}};
  input.old_logprobs = doubles({-1, -2, -1});
  input.ref_logprobs = doubles({-1.5, -1, -3});
  AdvantageConfig config = config_of("rloo");
  config.credit = "token_returns";
  expect_advantages(advantages_of(input, config).values, {0, 0, 0});
  config.beta = 0.1;
  expect_advantages(advantages_of(input, config).values, {0.05, 0.1, -0.2});
}

TEST(AdvantageAlgebra, ACriticsAdvantagesAndReturns) {
  AdvantageInput input{.rewards = doubles({1, kNoScore}), .group_ends = {2}, .lengths = {3, 1}};
  input.values = doubles({0.5, 0.4, 0.2, 0.3});
  AdvantageConfig config = config_of("ppo");
  config.token_whiten = false;
  config.gamma = 0.9;
  config.gae_lambda = 0.8;
  AdvantageOutput output = advantages_of(input, config);
  expect_advantages(output.values, {0.11632, 0.356, 0.8, 0});
  expect_advantages(output.returns, {0.61632, 0.756, 1.0, 0.3});
  config.gamma = 1.0;
  config.baseline_keys.critic.value_lambda = 1.0;
  output = advantages_of(input, config);
  expect_advantages(output.returns, {1, 1, 1, 0.3});
  config.baseline_keys.critic.length_adaptive_alpha = 1.0;  // lambda 2/3
  output = advantages_of(input, config);
  expect_advantages(output.values, {-0.1 + 2.0 / 3 * (-0.2 + 2.0 / 3 * 0.8), -0.2 + 2.0 / 3 * 0.8, 0.8, 0});
  // The KL of each token is paid there.
  input.old_logprobs = doubles({-1, -1, -1, -1});
  input.ref_logprobs = doubles({-1, -3, -1, -1});
  config.baseline_keys.critic.length_adaptive_alpha = 0.0;
  config.gae_lambda = 1.0;
  config.beta = 0.25;
  expect_advantages(advantages_of(input, config).values, {0.0, 0.1, 0.8, 0});
}

TEST(AdvantageAlgebra, ACriticMayShareWithTheGroup) {
  AdvantageInput input{.rewards = doubles({1, 0}), .group_ends = {2}, .lengths = {2, 1}};
  input.values = doubles({0.5, 0.4, 0.2});
  AdvantageConfig config = config_of("ppo");
  config.token_whiten = false;
  config.gae_lambda = 1.0;
  config.scale_epsilon = 0.0;
  config.baseline_keys.critic.share = 0.25;
  const double relative = 0.75 * std::sqrt(0.5);
  expect_advantages(advantages_of(input, config).values,
                    {0.125 + relative, 0.15 + relative, -0.05 - relative});
  // Both pay for the KL: tokens pay 0.5 and 1, so that scores are -0.5 and 0.
  input.old_logprobs = doubles({-1, -1, -1});
  input.ref_logprobs = doubles({-1.5, -2, -1});
  config.beta = 1.0;
  expect_advantages(advantages_of(input, config).values,
                    {-0.25 - relative, -0.1 - relative, -0.05 + relative});
}

TEST(AdvantageAlgebra, WhiteningOverTokensCountsLengths) {
  AdvantageInput input{.rewards = doubles({1, -1}), .group_ends = {2}, .lengths = {3, 1}};
  AdvantageConfig config;
  config.scale_rewards = "none";
  config.token_whiten = true;
  config.scale_epsilon = 0.0;
  expect_advantages(advantages_of(input, config).values, {0.5, -1.5});  // mean 1/2, variance 1
}

TEST(AdvantageAlgebra, GfpoKeepsTheBestOfAGroup) {
  AdvantageInput input{.rewards = doubles({1, 0, 5, kNoScore}), .group_ends = {4}, .lengths = {2, 3, 9, 1}};
  AdvantageConfig config = config_of("gfpo");
  config.gfpo_k = 2;
  config.scale_epsilon = 0.0;
  const AdvantageOutput output = advantages_of(input, config);
  expect_advantages(output.values, {1, -1, 0, 0});  // population std of 1 and 0 is 1/2
  expect_advantages(output.is_kept, {1, 1, 0, 1});
  EXPECT_NEAR(output.reward_mean, 2.0, 1e-12);
}

TEST(AdvantageAlgebra, GfpoMayKeepMoreOfHardGroups) {
  AdvantageInput input{
      .rewards = doubles({1, 0, 5, 1, 0, 5}), .group_ends = {3, 6}, .lengths = {1, 2, 3, 1, 2, 3}};
  input.group_k = {2, 3};
  AdvantageConfig config = config_of("gfpo");
  config.scale_rewards = "none";
  expect_advantages(advantages_of(input, config).values, {0.5, -0.5, 0, -1, -2, 3});
}

TEST(AdvantageAlgebra, ThePivotOfMcGrpoHasZeroAndIsTakenOut) {
  AdvantageInput input{.rewards = doubles({3, 1, 2}), .group_ends = {3}};
  const AdvantageOutput output = advantages_of(input, config_of("mc_grpo"));
  expect_advantages(output.values, {1.0 / 1.001, -1.0 / 1.001, 0});
  expect_advantages(output.is_kept, {1, 1, 0});
}

TEST(AdvantageAlgebra, TruncatedCompletionsMayLeaveTheStatistics) {
  AdvantageInput input{.rewards = doubles({1, 9, 0}), .group_ends = {3}};
  input.is_truncated = {0, 1, 0};
  AdvantageConfig config;
  config.scale_rewards = "none";
  config.drop_truncated = true;
  const AdvantageOutput output = advantages_of(input, config);
  expect_advantages(output.values, {0.5, 0, -0.5});
  expect_advantages(output.is_kept, {1, 0, 1});
}

TEST(AdvantageAlgebra, LengthCorrectionComesBeforeTheStatistics) {
  AdvantageInput input{.rewards = doubles({4, 3, 0}), .group_ends = {3}, .lengths = {2, 3, 0}};
  AdvantageConfig config = config_of("tic_grpo");
  config.scale_epsilon = 0.0;
  expect_advantages(advantages_of(input, config).values, {1, 0, -1});  // 2, 1 and 0 a token
}

TEST(AdvantageAlgebra, GpgCountsGroupsThatDiffer) {
  AdvantageInput input{.rewards = doubles({1, 0, 1, 1, 1, 0, 0, 0}), .group_ends = {2, 5, 8}};
  expect_advantages(advantages_of(input, config_of("gpg")).values,
                    {2, -2, 0, 0, 0, 0, 0, 0});  // all 8 by the 2 that differ, 4 times 1/2
  input.rewards = doubles({1, 1, 1, 1, 1, 0, 0, 0});
  for (const double value : numbers(advantages_of(input, config_of("gpg")).values)) EXPECT_EQ(value, 0.0);
}

TEST(AdvantageAlgebra, EdgeDividesWhatGrpoGives) {
  AdvantageInput input{.rewards = doubles({1, 0}), .group_ends = {2}, .lengths = {2, 1}};
  input.entropies = doubles({0, 2, 3});
  const std::vector<double> grpo = numbers(advantages_of(input, {}).values);
  expect_advantages(advantages_of(input, config_of("edge_grpo")).values, {2.0 * grpo[0], grpo[1] / 1.5});
}

}  // namespace
}  // namespace cohort
