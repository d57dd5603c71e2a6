// POW3R's factors by hand, in a run, and over a resume.
#include "cohort/train/grpo/reward_balance.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "cohort/objectives/controllers.h"
#include "tests/core/test_files.h"
#include "tests/train/tiny_grpo.h"

namespace cohort {
namespace {

const ControlConfig kBalanced = {.use_policy_aware_weights = true};

/// Two groups of two samples; each row has the scores of one reward. nan: not judged.
Batch batch_of(const std::vector<std::array<double, 4>>& scores) {
  Batch batch;
  batch.reward_weights.assign(scores.size(), 1.0);
  batch.groups.resize(2);
  for (size_t i = 0; i < 4; ++i) {
    Sample sample;
    for (const std::array<double, 4>& reward : scores) {
      const bool is_judged = reward[i] == reward[i];
      sample.rewards.push_back(
          {is_judged ? reward[i] : 0.0, is_judged ? RewardStatus::kOk : RewardStatus::kError, ""});
    }
    batch.groups[i / 2].samples.push_back(std::move(sample));
  }
  return batch;
}

void expect_near(const std::vector<double>& values, const std::vector<double>& expected) {
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], 1e-12) << i;
}

// Variances within groups: (0.25 + 0.01) / 2 = 0.13 and (0.01 + 0.01) / 2 = 0.01, of mean 0.07. The aims are
// 0.5 + 0.5 * 13 / 7 = 10 / 7 and 0.5 + 0.5 / 7 = 4 / 7, the factors 0.9 + 1 / 7 and 0.9 + 0.4 / 7.
TEST(RewardBalance, ByHand) {
  RewardBalance balance(kBalanced, {{.name = "a"}, {.name = "b", .weight = 3.0}});
  expect_near(balance.balanced({1.0, 3.0}), {1.0, 3.0});
  balance.after_step(batch_of({{0.0, 1.0, 0.2, 0.4}, {0.0, 0.2, 1.0, 0.8}}));
  const double a = 0.9 + 1.0 / 7.0, b = 3.0 * (0.9 + 0.4 / 7.0);
  expect_near(balance.balanced({1.0, 3.0}), {4.0 * a / (a + b), 4.0 * b / (a + b)});
  RewardBalance resumed(kBalanced, {{.name = "a"}, {.name = "b", .weight = 3.0}});
  resumed.load(balance.save());
  EXPECT_EQ(resumed.balanced({1.0, 3.0}), balance.balanced({1.0, 3.0}));
  RewardBalance changed(kBalanced, {{.name = "new"}, {.name = "b"}});  // a resume with other rewards
  changed.load(balance.save());
  const double of_b = 0.9 + 0.4 / 7.0;
  expect_near(changed.balanced({1.0, 1.0}), {2.0 / (1.0 + of_b), 2.0 * of_b / (1.0 + of_b)});
}

TEST(RewardBalance, ARewardWithoutAWeightYetStandsAside) {
  RewardBalance balance(kBalanced, {{.name = "a"}, {.name = "b"}, {.name = "c", .weight_at = {{"9", 1.0}}}});
  Batch batch = batch_of({{0.0, 1.0, 0.0, 1.0}, {0.5, 0.5, 0.5, 0.5}, {0.0, 9.0, 0.0, 9.0}});
  batch.reward_weights[2] = 0.0;
  balance.after_step(batch);
  expect_near(balance.balanced({1.0, 1.0, 0.0}), {1.05, 0.95, 0.0});
}

TEST(RewardBalance, CategoriesAndWhatWasNotJudged) {
  const double none = std::nan("");
  RewardBalance balance(kBalanced, {{.name = "a", .category = "x"},
                                    {.name = "b", .category = "x"},
                                    {.name = "c", .category = "y"},
                                    {.name = "d", .category = "x"},
                                    {.name = "logged", .weight = 0.0, .category = "x"}});
  // Of x: a varies, b does not, d was judged once in each group and stands aside. c is alone.
  balance.after_step(batch_of({{0.0, 1.0, 0.0, 1.0},
                               {0.5, 0.5, 0.5, 0.5},
                               {0.0, 1.0, 0.0, 1.0},
                               {0.3, none, none, 0.9},
                               {0.0, 9.0, 0.0, 9.0}}));
  // Ratios 2 and 0, factors 0.9 + 0.1 * 1.5 and 0.9 + 0.1 * 0.5; the mean of 1.05, 0.95 and 1 is 1.
  expect_near(balance.balanced({1.0, 1.0, 2.0, 1.0, 0.0}), {1.05, 0.95, 2.0, 1.0, 0.0});
}

TEST(RewardBalance, NoDifferenceMovesTowardsOne) {
  RewardBalance balance({.use_policy_aware_weights = true, .weight_factor_decay = 0.0},
                        {{.name = "a"}, {.name = "b"}});
  balance.after_step(batch_of({{0.0, 1.0, 0.0, 1.0}, {0.0, 0.0, 0.0, 0.0}}));
  expect_near(balance.balanced({1.0, 1.0}), {1.5, 0.5});
  balance.after_step(batch_of({{0.1, 0.1, 0.1, 0.1}, {0.0, 0.0, 0.0, 0.0}}));
  expect_near(balance.balanced({1.0, 1.0}), {1.0, 1.0});
}

TEST(RewardBalance, FactorsStayWithinTheirBounds) {
  const FactorControl control{.prior = 0.0, .decay = 0.5};
  EXPECT_EQ(adapted_factor(1.0, 100.0, control), 4.0);
  EXPECT_EQ(adapted_factor(0.3, 0.0, control), 0.25);
  EXPECT_EQ(adapted_factor(1.0, 2.0, control), 1.5);
}

// The factors of a step come from the steps before, and metrics and batch show the weights that were taken.
TEST(RewardBalance, InARun) {
  TrainConfig config = tiny_grpo_config();
  config.objective.control.use_policy_aware_weights = true;
  config.reward = {{.name = "mine"}, {.name = "same"}};
  RewardTypes types = judged_by(even_share);
  types.push_back(
      judged_by([](const Prompt&, const Completion&) { return RewardResult{0.5}; }, "same").front());
  TinyGrpo run(config, types);
  const auto weights = [&](int64_t step) { return run.trainer->step(step).batch->reward_weights; };
  EXPECT_EQ(weights(1), (std::vector<double>{1.0, 1.0}));
  expect_near(weights(2), {1.05, 0.95});
  expect_near(weights(3), {0.9 * 1.05 + 0.15, 0.9 * 0.95 + 0.05});
  TinyGrpo resumed(config, types);
  resumed.trainer->load(run.trainer->save());
  EXPECT_EQ(resumed.trainer->step(4).batch->reward_weights, weights(4));
}

TEST(RewardBalance, NothingToMoveWeightBetween) {
  const auto refusal = [](const std::vector<RewardConfig>& rewards) {
    return message_of<ConfigError>([&] { check_reward_balance(kBalanced, rewards); });
  };
  EXPECT_NE(refusal({{.name = "a"}}).find("use_policy_aware_weights moves weight"), std::string::npos);
  EXPECT_NE(refusal({{.name = "a"}, {.name = "b", .weight = 0.0}}).find("there are none"), std::string::npos);
  EXPECT_NE(refusal({{.name = "a", .category = "x"}, {.name = "b"}}).find("there are none"),
            std::string::npos);
  EXPECT_NO_THROW(check_reward_balance(kBalanced, {{.name = "a"}, {.name = "b"}}));
}

}  // namespace
}  // namespace cohort
