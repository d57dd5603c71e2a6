// The policy terms of single tokens and sequences against hand arithmetic and finite differences.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "cohort/objectives/clip.h"
#include "cohort/objectives/demonstration.h"
#include "cohort/objectives/dppo.h"
#include "cohort/objectives/drpo.h"
#include "cohort/objectives/gmpo.h"
#include "cohort/objectives/regression.h"
#include "cohort/objectives/sapo.h"
#include "cohort/objectives/vespo.h"
#include "cohort/objectives/weighted.h"
#include "tests/objectives/differences.h"
#include "tests/objectives/doubles.h"

namespace cohort {
namespace {

Segments on_cpu(const std::vector<int64_t>& lengths) { return Segments(lengths, at::Device(at::kCPU)); }

TEST(Clip, CapActsOnNegativeAdvantagesAlone) {
  const at::Tensor ratio = doubles({5, 5, 1.1, 0.5}), advantages = doubles({-1, 1, -1, -1});
  const auto loss = [&](const at::Tensor& r) {
    return clipped_surrogate(r, advantages, {.low = 0.8, .high = 1.2, .cap = 4.0}).loss;
  };
  expect_all_near(loss(ratio), {4, -1.2, 1.1, 0.8});
  expect_all_near(gradient_of(loss, ratio), {0, 0, 1, 0});
  expect_gradient_is_slope(loss, ratio);
}

TEST(Clip, BoundsMayBeMissing) {
  const at::Tensor ratio = doubles({0.5, 2, 0.5, 2}), advantages = doubles({-1, 1, 1, -1});
  const auto loss = [&](std::optional<double> low, std::optional<double> high) {
    return clipped_surrogate(ratio, advantages, {.low = low, .high = high, .cap = {}});
  };
  expect_all_near(loss({}, 1.2).loss, {0.5, -1.2, -0.5, 2});
  expect_all_near(loss(0.8, {}).loss, {0.8, -2, -0.5, 2});
  expect_all_near(loss({}, {}).loss, {0.5, -2, -0.5, 2});
  expect_all_near(loss({}, 1.2).low_clipped.to(at::kDouble), {0, 0, 0, 0});
  expect_all_near(loss(0.8, {}).high_clipped.to(at::kDouble), {0, 0, 0, 0});
  expect_all_near(loss(0.8, 1.2).low_clipped.to(at::kDouble), {1, 0, 0, 0});
  expect_all_near(loss(0.8, 1.2).high_clipped.to(at::kDouble), {0, 1, 0, 0});
}

TEST(Weighted, CispoWeighsByAClampedConstant) {
  const at::Tensor policy = doubles({-1, -2, -3}), advantages = doubles({1, -2, 1});
  const at::Tensor ratio = doubles({7, 0.5, 0.1}).requires_grad_();
  const auto loss = [&](const at::Tensor& p) { return cispo_loss(p, ratio, advantages, 0.2, 5); };
  expect_all_near(loss(policy), {5, -2, 0.6});
  expect_all_near(gradient_of(loss, policy), {-5, 1, -0.2});
  EXPECT_FALSE(ratio.grad().defined());
  expect_all_near(reinforce_loss(policy, advantages), {1, -4, 3});
}

TEST(Sapo, GateByTheSignOfTheAdvantage) {
  const at::Tensor ratio = doubles({1, 3, 1, 0.5}), advantages = doubles({2, 1, -2, -1});
  const auto loss = [&](const at::Tensor& r) { return sapo_loss(r, advantages, 1.0, 2.0); };
  const auto gate = [](double x) { return 1.0 / (1.0 + std::exp(-x)); };
  expect_all_near(loss(ratio), {-4, -4 * gate(2), 2, 2 * gate(-1)});
  const at::Tensor gradient = gradient_of(loss, ratio);
  EXPECT_NEAR(gradient[0].item<double>(), -2.0, 1e-12);  // REINFORCE's at ratio 1
  EXPECT_NEAR(gradient[2].item<double>(), 2.0, 1e-12);
  expect_gradient_is_slope(loss, ratio);
}

TEST(Vespo, WeightOfTheSequenceByHand) {
  const Segments completions = on_cpu({2, 1});
  // W = 2 * 1 = 2 and 0.5; positive: e^3 W^2 e^-3W, negative: e^2 W^3 e^-2W.
  const at::Tensor log_ratio = doubles({std::log(2.0), 0, std::log(0.5)});
  const at::Tensor advantages = doubles({1, -1, 0});
  const VespoShape shape{2, 3, 3, 2};
  const std::vector<double> expected = {4 * std::exp(-3.0), 8 * std::exp(-2.0), 0.25 * std::exp(1.5)};
  expect_all_near(vespo_weights(log_ratio, advantages, {}, completions, shape), expected);
  // The token weights 0.5 and 1 bring the first product back to 1; a weight of 0 counts as 1e-8.
  const at::Tensor phi = vespo_weights(log_ratio, advantages, doubles({0.5, 1, 0}), completions, shape);
  expect_all_near(phi / doubles({1, 1, std::exp(3.0) * 1e-16}), {1, 1, 1}, 1e-7);
}

TEST(Vespo, OnPolicyWeightIsOne) {
  expect_all_near(vespo_weights(doubles({0, 0}), doubles({1, -1}), {}, on_cpu({2}), {2, 3, 3, 2}), {1, 1});
}

TEST(Gmpo, ClipsTokensBeforeTheMean) {
  const Segments completions = on_cpu({2, 2});
  const at::Tensor log_ratio = doubles({1.0, 0.2, -1.0, 0.2}), advantages = doubles({2, 2, -1, -1});
  const auto loss = [&](const at::Tensor& x) {
    return gmpo_surrogate(x, advantages, completions, 0.4, 0.4).loss;
  };
  const double up = std::exp(0.3), down = std::exp(-0.1);
  expect_all_near(loss(log_ratio), {-2 * up, -2 * up, down, down});
  // Each token's loss is the sequence's: two tokens times a mean's half.
  expect_all_near(gradient_of(loss, log_ratio), {0, -2 * up, 0, down});
  expect_gradient_is_slope(loss, log_ratio);
  const ClippedSurrogate surrogate = gmpo_surrogate(log_ratio, advantages, completions, 0.4, 0.4);
  expect_all_near(surrogate.high_clipped.to(at::kDouble), {1, 0, 0, 0});
  expect_all_near(surrogate.low_clipped.to(at::kDouble), {0, 0, 1, 0});
  expect_all_near(gmpo_surrogate(log_ratio, advantages, completions, {}, {}).loss,
                  {-2 * std::exp(0.6), -2 * std::exp(0.6), std::exp(-0.4), std::exp(-0.4)});
}

TEST(Dppo, TotalVariationByHand) {
  const at::Tensor policy = doubles({0.5, 0.5, 0.3, 0.3, 0.5}).log();
  const at::Tensor anchor = doubles({0.3, 0.3, 0.5, 0.5, 0.45}).log();
  const at::Tensor advantages = doubles({1, -1, 1, -1, 1});
  expect_all_near(divergence_mask("tv", policy, anchor, advantages, 0.15, 0.15), {0, 1, 1, 0, 1});
  expect_all_near(divergence_mask("tv", policy, anchor, advantages, 0.25, 0.15), {0, 1, 1, 1, 1});
  expect_all_near(divergence_mask("tv", policy, anchor, advantages, 0.15, 0.25), {1, 1, 1, 0, 1});
}

TEST(Dppo, BinaryDivergenceByHand) {
  // 0.25 log(0.25 / 0.5) + 0.75 log(0.75 / 0.5) = 0.13081; 0.5 log 2 + 0.5 log(2 / 3) = 0.14384.
  const at::Tensor policy = doubles({0.5, 0.25}).log(), anchor = doubles({0.25, 0.5}).log();
  const at::Tensor advantages = doubles({1, -1});
  expect_all_near(divergence_mask("kl", policy, anchor, advantages, 0.1438, 0.1308), {0, 0});
  expect_all_near(divergence_mask("kl", policy, anchor, advantages, 0.1439, 0.1309), {1, 1});
  expect_all_near(divergence_mask("kl", policy, anchor, -advantages, 0.01, 0.01), {1, 1});
}

TEST(Dppo, CertainTokensAreNoNan) {
  const at::Tensor policy = doubles({0, 0, -0.5}), anchor = doubles({0, -0.5, 0});
  const at::Tensor advantages = doubles({1, 1, -1});
  expect_all_near(divergence_mask("kl", policy, anchor, advantages, 0.05, 0.05), {1, 0, 0});
}

TEST(Dppo, TruncatedWeight) {
  const at::Tensor policy = doubles({-1, -1, -1}), ratio = doubles({30, 2, 2}),
                   advantages = doubles({1, 1, 1});
  const auto loss = [&](const at::Tensor& p) {
    return dppo_loss(p, ratio, advantages, doubles({1, 1, 0}), 20);
  };
  expect_all_near(loss(policy), {20, 2, 0});
  expect_all_near(gradient_of(loss, policy), {-20, -2, 0});
}

TEST(Drpo, PenaltyWeighsTheGradient) {
  const at::Tensor anchor = doubles({0.25, 0.5}).log(), ratio = doubles({2, 0.5}),
                   advantages = doubles({3, -2});
  const auto loss = [&](const at::Tensor& r) { return drpo_loss(r, advantages, anchor, 0.5); };
  // -3 * 2 + 3 * 0.25 * 1 / 1 and 2 * 0.5 + 2 * 0.5 * 0.25 / 1.
  expect_all_near(loss(ratio), {-5.25, 1.25});
  // -A (1 - sign(A (r - 1)) |p - mu| / delta), p - mu = 0.25 and -0.25.
  expect_all_near(gradient_of(loss, ratio), {-3 * 0.5, 2 * 0.5});
  expect_gradient_is_slope(loss, ratio);
}

TEST(Demonstration, ShapedByProbability) {
  const at::Tensor policy = doubles({0.1, 0.9}).log(), advantages = doubles({1, -1});
  const auto loss = [&](const at::Tensor& p) { return shaped_demonstration_loss(p, advantages, 0.1); };
  expect_all_near(loss(policy), {-0.5, 0.9});
  // gamma p / (p + gamma)^2.
  expect_all_near(gradient_of(loss, policy), {-0.25, 0.09});
  expect_gradient_is_slope(loss, policy);
}

TEST(Regression, SquaredErrorOfTheSequence) {
  const Segments completions = on_cpu({2, 1});
  const at::Tensor log_ratio = doubles({0.5, 1.5, -1}), advantages = doubles({1, 1, -0.5});
  const auto loss = [&](const at::Tensor& x) { return regression_loss(x, advantages, completions, 0.25); };
  expect_all_near(loss(log_ratio), {0.25, 0.25, 0.0625});
  // -2 tau (A - tau x), once for each token of the completion.
  expect_all_near(gradient_of(loss, log_ratio), {-0.5, -0.5, 0.125});
  expect_gradient_is_slope(loss, log_ratio);
}

}  // namespace
}  // namespace cohort
