// completion_weights.h, pairs.h, discriminative.h and value_loss.h against hand arithmetic.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "cohort/core/error.h"
#include "cohort/objectives/completion_weights.h"
#include "cohort/objectives/discriminative.h"
#include "cohort/objectives/groups.h"
#include "cohort/objectives/pairs.h"
#include "cohort/objectives/value_loss.h"
#include "tests/objectives/differences.h"
#include "tests/objectives/doubles.h"

namespace cohort {
namespace {

const std::vector<int64_t> kLengths = {4, 0, 1, 3};

LossCounts counts_by_hand() {
  LossCounts counts;
  counts.num_completions = 4;
  counts.num_loss_tokens = 8;
  counts.num_groups = 2;
  return counts;
}

at::Tensor weights_for(const std::string& aggregation, const std::string& scope = "batch") {
  LossConfig config;
  config.aggregation = aggregation;
  config.aggregation_keys.token_mean.scope = scope;
  config.max_completion_length = 10;
  return completion_weights(kLengths, {2, 4}, config, counts_by_hand());
}

TEST(CompletionWeights, ByHand) {
  expect_all_near(weights_for("seq_mean_token_mean"), {1.0 / 16, 1.0 / 4, 1.0 / 4, 1.0 / 12});
  expect_all_near(weights_for("token_mean"), {0.125, 0.125, 0.125, 0.125});
  expect_all_near(weights_for("token_mean", "group"), {0.125, 0.125, 0.125, 0.125});
  expect_all_near(weights_for("seq_mean_token_sum"), {0.25, 0.25, 0.25, 0.25});
  expect_all_near(weights_for("seq_mean_token_sum_norm"), {0.025, 0.025, 0.025, 0.025});
}

TEST(CompletionWeights, ScopesDiffer) {
  LossConfig config;
  config.aggregation = "token_mean";
  LossCounts counts = counts_by_hand();
  counts.num_loss_tokens = 80;
  counts.num_micro_batches = 5;
  expect_all_near(completion_weights({3, 1, 2}, {2, 3}, config, counts), {1.0 / 80, 1.0 / 80, 1.0 / 80});
  config.aggregation_keys.token_mean.scope = "group";
  expect_all_near(completion_weights({3, 1, 2}, {2, 3}, config, counts), {1.0 / 8, 1.0 / 8, 1.0 / 4});
  config.aggregation_keys.token_mean.scope = "micro_batch";
  expect_all_near(completion_weights({3, 1, 2}, {2, 3}, config, counts), {1.0 / 30, 1.0 / 30, 1.0 / 30});
}

TEST(CompletionWeights, NothingToTrainIsFinite) {
  LossConfig config;
  config.aggregation = "token_mean";
  expect_all_near(completion_weights({0}, {1}, config, {}), {1});
  EXPECT_EQ(completion_weights({}, {}, config, {}).numel(), 0);
  config.aggregation = "seq_mean_token_sum_norm";
  EXPECT_THROW(completion_weights({1}, {1}, config, {}), ConfigError);
}

TEST(LengthPreference, ByHand) {
  const at::Tensor zero = at::scalar_tensor(0.0, at::kDouble);
  expect_all_near(length_preference_weights({1, 5, 3}, {2, 3}, zero), {1, 1, 1});
  // Lengths 2 and 4: std sqrt(2); h = 1 -+ 1 / (9 (sqrt(2) + 1e-4)).
  const double shift = 1.0 / (9.0 * (std::sqrt(2.0) + 1e-4));
  const double low = std::exp(std::pow(1 - shift, 2.0)), high = std::exp(std::pow(1 + shift, 2.0));
  const at::Tensor two = at::scalar_tensor(2.0, at::kDouble);
  expect_all_near(length_preference_weights({2, 4, 3, 3}, {2, 4}, two),
                  {2 * low / (low + high), 2 * high / (low + high), 1, 1});
}

TEST(LengthPreference, GradientOfLambdaIsSlope) {
  const at::Tensor parts = doubles({1, -2, 3, 4, 5});
  expect_gradient_is_slope(
      [&](const at::Tensor& preference) {
        return parts * length_preference_weights({2, 4, 9, 1, 1}, {3, 5}, preference[0]);
      },
      doubles({0.3}));
}

TEST(Groups, EndsAreChecked) {
  EXPECT_NO_THROW(check_group_ends({2, 2, 3}, 3));
  EXPECT_THROW(check_group_ends({2, 1, 3}, 3), InternalError);
  EXPECT_THROW(check_group_ends({2}, 3), InternalError);
  EXPECT_THROW(check_group_ends({}, 3), InternalError);
}

TEST(Pairs, AllOrBestWithWorst) {
  LossConfig config;
  const at::Tensor rewards = doubles({1, 0, std::numeric_limits<double>::quiet_NaN(), 3, 5, 5});
  const std::vector<int64_t> lengths = {1, 2, 1, 1, 1, 1};
  PreferencePairs pairs = preference_pairs(rewards, lengths, {4, 6}, config);
  EXPECT_EQ(pairs.winners, (std::vector<int64_t>{0, 3, 3}));
  EXPECT_EQ(pairs.losers, (std::vector<int64_t>{1, 0, 1}));
  config.dpo_margin = 2.0;
  EXPECT_EQ(preference_pairs(rewards, lengths, {4, 6}, config).winners, (std::vector<int64_t>{3}));
  config.dpo_margin = 0.0;
  config.dpo_pairs = "best_worst";
  pairs = preference_pairs(rewards, lengths, {4, 6}, config);
  EXPECT_EQ(pairs.winners, (std::vector<int64_t>{3}));
  EXPECT_EQ(pairs.losers, (std::vector<int64_t>{1}));
  pairs = preference_pairs(doubles({0, 2, 0, 1}), {1, 1, 1, 1}, {4}, config);
  EXPECT_EQ(pairs.winners, (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(pairs.losers, (std::vector<int64_t>{0, 2}));
}

TEST(Pairs, CompletionsWithoutTokensAreInNone) {
  LossConfig config;
  for (const char* choice : {"all", "best_worst"}) {
    config.dpo_pairs = choice;
    const PreferencePairs pairs = preference_pairs(doubles({0, 2, 1}), {0, 3, 1}, {3}, config);
    EXPECT_EQ(pairs.winners, (std::vector<int64_t>{1}));
    EXPECT_EQ(pairs.losers, (std::vector<int64_t>{2}));
  }
}

TEST(Pairs, LogprobsOfCompletions) {
  const Segments completions({2, 1}, at::Device(at::kCPU));
  const at::Tensor policy = doubles({-1, -3, -2}), ref = doubles({-1.5, -1.5, -2.5});
  LossConfig config;
  expect_all_near(pair_logprobs(policy, ref, completions, config), {-2, -2});
  config.dpo_length_normalized = false;
  expect_all_near(pair_logprobs(policy, ref, completions, config), {-4, -2});
  config.dpo_reference_free = false;
  expect_all_near(pair_logprobs(policy, ref, completions, config), {-1, 0.5});
}

TEST(Pairs, LossAndGradient) {
  const PreferencePairs pairs{{0, 2}, {1, 1}};
  const at::Tensor logprobs = doubles({-1, -2, -1.5});
  const auto loss = [&](const at::Tensor& x) { return pair_loss_sum(x, pairs, 0.5); };
  EXPECT_NEAR(loss(logprobs).item<double>(), std::log1p(std::exp(-0.5)) + std::log1p(std::exp(-0.25)), 1e-12);
  expect_gradient_is_slope(loss, logprobs);
  EXPECT_EQ(pair_loss_sum(logprobs, {}, 0.5).item<double>(), 0.0);
}

struct DiscriminativeCase {
  Segments completions{{2, 1, 1, 2, 1, 0}, at::Device(at::kCPU)};
  at::Tensor policy = doubles({-1, -3, -1, -0.5, -2, -2, -4});
  at::Tensor rewards = doubles({1, 1, 0, 0, 1, 0});
  std::vector<int64_t> group_ends = {4, 6};  // the wrong completion of the second has no tokens
  LossConfig config;

  DiscriminativeCase() {
    config.max_completion_length = 4;
    config.drpo_decoupled.lambda = 0.25;
    config.drpo_decoupled.tau = 2.0;
  }
};

TEST(Discriminative, ByHand) {
  const DiscriminativeCase test;
  const auto loss = [&](const at::Tensor& p) {
    return discriminative_loss_sum(p, test.rewards, test.completions, test.group_ends, test.config);
  };
  // Right: means -2 and -1 of lengths 2 and 1, weights e^2 and e^3; wrong: means -0.5 and -2.
  const double right = (-2 * std::exp(2.0) - std::exp(3.0)) / (std::exp(2.0) + std::exp(3.0));
  const double wrong = 2 * std::log((std::exp(-0.25) + std::exp(-1.0)) / 2);
  EXPECT_NEAR(loss(test.policy).item<double>(), wrong - right, 1e-12);
  expect_gradient_is_slope(loss, test.policy);
  EXPECT_EQ(num_contrasts(test.rewards, test.completions, test.group_ends, test.config), 1);
}

TEST(Discriminative, WithoutLengthPressureAllWeighAlike) {
  DiscriminativeCase test;
  test.config.drpo_decoupled.lambda = std::numeric_limits<double>::infinity();
  const double wrong = 2 * std::log((std::exp(-0.25) + std::exp(-1.0)) / 2);
  EXPECT_NEAR(
      discriminative_loss_sum(test.policy, test.rewards, test.completions, test.group_ends, test.config)
          .item<double>(),
      wrong + 1.5, 1e-12);
}

TEST(ValueLoss, LargerOfBothErrors) {
  const at::Tensor values = doubles({1, 0.5, -1}), old_values = doubles({0.2, 0.4, 0}),
                   returns = doubles({0, 1, 0});
  const auto loss = [&](const at::Tensor& v) { return clipped_value_loss(v, old_values, returns, 0.2); };
  // Clipped to 0.4, 0.5 and -0.2.
  expect_all_near(loss(values), {0.5, 0.125, 0.5});
  expect_gradient_is_slope(loss, values);
  // Where the clipped error is the larger one there is no gradient.
  expect_all_near(
      gradient_of(
          [&](const at::Tensor& v) { return clipped_value_loss(v, old_values, doubles({2, 1, 0}), 0.2); },
          values),
      {0, -0.5, -1});
}

}  // namespace
}  // namespace cohort
