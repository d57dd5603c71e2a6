// Losses on preference pairs against hand arithmetic, finite differences and the hybrid loss's own pairs.
// Those of TRL: tests/python/test_objectives_preference.py.
#include "cohort/objectives/preference.h"

#include <gtest/gtest.h>

#include <cmath>

#include "cohort/core/error.h"
#include "tests/core/test_files.h"
#include "tests/objectives/differences.h"
#include "tests/objectives/doubles.h"

namespace cohort {
namespace {

constexpr const char* kLossTypes[] = {"sigmoid", "sigmoid_norm", "hinge", "ipo", "robust"};

/// Two pairs of 2 and 3, 1 and 1 tokens.
PreferenceInput two_pairs() {
  return {.policy_logprobs = doubles({-1.0, -0.5, -2.0, -0.25, -0.75, -1.5, -1.0}),
          .ref_sums = doubles({-2.0, -2.5, -1.25, -1.75}),
          .lengths = {2, 3, 1, 1}};
}

double softplus(double x) { return std::log1p(std::exp(x)); }

TEST(Preference, EveryLossByHand) {
  const at::Tensor lead = doubles({2.0, -1.0, 0.0});
  const auto losses = [&](const char* type, double flipped) {
    return pair_losses(lead, {.beta = 0.5, .loss_type = type, .label_smoothing = flipped});
  };
  const std::vector<double> sigmoid = {softplus(-1.0), softplus(0.5), std::log(2.0)};
  expect_all_near(losses("sigmoid", 0.0), sigmoid);
  expect_all_near(losses("sigmoid_norm", 0.0), sigmoid);
  expect_all_near(losses("hinge", 0.0), {0.0, 1.5, 1.0});
  expect_all_near(losses("ipo", 0.0), {1.0, 4.0, 1.0});
  // (0.9 right - 0.1 flipped) / 0.8
  expect_all_near(losses("robust", 0.1), {(0.9 * softplus(-1.0) - 0.1 * softplus(1.0)) / 0.8,
                                          (0.9 * softplus(0.5) - 0.1 * softplus(-0.5)) / 0.8, std::log(2.0)});
  expect_all_near(losses("robust", 0.0), sigmoid);
}

TEST(Preference, SumsOverTokens) {
  const PreferenceInput pairs = two_pairs();
  expect_all_near(sequence_logprobs(pairs.policy_logprobs, pairs.lengths, {}), {-1.5, -3.0, -1.5, -1.0});
  // Of the first pair the third token of the rejected completion has no counterpart.
  expect_all_near(sequence_logprobs(pairs.policy_logprobs, pairs.lengths, 0.5), {-1.5, -2.625, -1.5, -1.0});
  expect_all_near(sequence_logprobs(pairs.policy_logprobs, pairs.lengths, 0.0), {-1.5, -2.25, -1.5, -1.0});
}

TEST(Preference, ABatchByHand) {
  // Scores: 0.5, -0.5; -0.25, 0.75.
  const LossOutput dpo = preference_loss(two_pairs(), {.beta = 2.0});
  EXPECT_NEAR(dpo.loss.item<double>(), (softplus(-2.0) + softplus(2.0)) / 2, 1e-12);
  const std::map<std::string, double> expected = {{"loss", (softplus(-2.0) + softplus(2.0)) / 2},
                                                  {"rewards/chosen", 0.25},
                                                  {"rewards/rejected", 0.25},
                                                  {"rewards/accuracies", 0.5},
                                                  {"rewards/margins", 0.0},
                                                  {"logps/chosen", -1.5},
                                                  {"logps/rejected", -2.0}};
  const std::map<std::string, double> values = dpo.metrics.values();
  ASSERT_EQ(values.size(), expected.size());
  for (const auto& [name, value] : expected) EXPECT_NEAR(values.at(name), value, 1e-12) << name;
  // Means over tokens: 0.25, -1/6; -0.25, 0.75. 1 / (2 beta) = 0.25.
  const LossOutput ipo = preference_loss(two_pairs(), {.beta = 2.0, .loss_type = "ipo"});
  EXPECT_NEAR(ipo.loss.item<double>(), (std::pow(1.0 / 6, 2) + std::pow(1.25, 2)) / 2, 1e-12);
  EXPECT_EQ(ipo.metrics.values().at("rewards/chosen"), 0.25);
}

TEST(Preference, WithoutAReferenceItsLogProbabilitiesAreZero) {
  PreferenceInput pairs = two_pairs();
  for (const char* type : kLossTypes) {
    pairs.ref_sums = at::Tensor();
    const LossOutput free = preference_loss(pairs, {.loss_type = type, .reference_free = true});
    pairs.ref_sums = at::zeros({4}, at::kDouble);
    const LossOutput zero = preference_loss(pairs, {.loss_type = type});
    EXPECT_EQ(free.loss.item<double>(), zero.loss.item<double>()) << type;
    EXPECT_EQ(free.metrics.values(), zero.metrics.values()) << type;
  }
}

TEST(Preference, TheGradientIsTheSlope) {
  for (const char* type : kLossTypes) {
    SCOPED_TRACE(type);
    const PreferenceConfig config{.beta = 0.4, .loss_type = type, .ld_alpha = 0.3};
    const TensorFunction loss = [&](const at::Tensor& logprobs) {
      PreferenceInput pairs = two_pairs();
      pairs.policy_logprobs = logprobs;
      return preference_loss(pairs, config).loss;
    };
    expect_gradient_is_slope(loss, two_pairs().policy_logprobs);
  }
}

TEST(Preference, PiecesOfABatchAddUp) {
  const PreferenceInput whole = two_pairs();
  for (const char* type : kLossTypes) {
    const PreferenceConfig config{.loss_type = type};
    LossMetrics sum;
    double loss = 0.0;
    for (const int64_t pair : {0, 1}) {
      const PreferenceInput part{.policy_logprobs = pair == 0 ? whole.policy_logprobs.narrow(0, 0, 5)
                                                              : whole.policy_logprobs.narrow(0, 5, 2),
                                 .ref_sums = whole.ref_sums.narrow(0, 2 * pair, 2),
                                 .lengths = {whole.lengths[2 * pair], whole.lengths[2 * pair + 1]},
                                 .num_pairs = 2};
      const LossOutput output = preference_loss(part, config);
      loss += output.loss.item<double>();
      sum.add(output.metrics);
    }
    const LossOutput at_once = preference_loss(whole, config);
    EXPECT_NEAR(loss, at_once.loss.item<double>(), 1e-12) << type;
    for (const auto& [name, value] : at_once.metrics.values())
      EXPECT_NEAR(sum.values().at(name), value, 1e-12) << type << " " << name;
  }
}

TEST(Preference, TheHybridLossHasTheSameTerm) {
  const PreferenceInput pairs = two_pairs();
  LossInput group;
  group.policy_logprobs = pairs.policy_logprobs;
  group.lengths = pairs.lengths;
  group.advantages = at::zeros({4}, at::kDouble);
  group.rewards = doubles({1.0, 0.0, 1.0, 0.0});
  group.group_ends = {2, 4};
  LossConfig hybrid;
  hybrid.beta = 0.0;
  hybrid.dpo_coef = 1.0;
  hybrid.dpo_beta = 0.7;
  for (const bool by_token : {false, true}) {
    hybrid.dpo_length_normalized = by_token;
    const PreferenceConfig dpo{
        .beta = 0.7, .loss_type = by_token ? "sigmoid_norm" : "sigmoid", .reference_free = true};
    EXPECT_NEAR(policy_loss(group, hybrid).metrics.values().at("dpo_loss"),
                preference_loss(pairs, dpo).loss.item<double>(), 1e-12);
  }
}

TEST(Preference, ASettingWithoutEffectIsRefused) {
  const PreferenceConfig config{.loss_type = "ipo", .label_smoothing = 0.1};
  EXPECT_NE(message_of<ConfigError>([&] { check_preference_config(config); }).find("label_smoothing"),
            std::string::npos);
  check_preference_config({.loss_type = "robust", .label_smoothing = 0.1});
}

TEST(Preference, WrongShapesAreBugs) {
  PreferenceInput pairs = two_pairs();
  pairs.ref_sums = doubles({1.0});
  EXPECT_THROW(preference_loss(pairs, {}), InternalError);
  EXPECT_THROW(sequence_logprobs(doubles({1.0}), {1}, {}), InternalError);
  EXPECT_THROW(sequence_logprobs(doubles({1.0}), {1, 1}, {}), InternalError);
}

}  // namespace
}  // namespace cohort
