// mismatch.h, kl.h's estimators, filters.h, batch_filters.h and controllers.h against hand arithmetic.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "cohort/core/error.h"
#include "cohort/objectives/batch_filters.h"
#include "cohort/objectives/controllers.h"
#include "cohort/objectives/filters.h"
#include "cohort/objectives/kl.h"
#include "cohort/objectives/mismatch.h"
#include "cohort/objectives/ratio_level.h"
#include "tests/objectives/differences.h"
#include "tests/objectives/doubles.h"

namespace cohort {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

at::Tensor weights_by(const std::string& mode, std::optional<double> low, std::optional<double> high) {
  // Differences log 2, log 4 | log 0.25, none.
  const at::Tensor sampler = doubles({-std::log(2.0), -std::log(4.0), std::log(4.0), kNan});
  const Segments completions({2, 2}, at::Device(at::kCPU));
  return mismatch_weights(mode, doubles({0, 0, 0, -5}), sampler, completions, low, high);
}

TEST(Mismatch, ModesByHand) {
  expect_all_near(weights_by("token_truncate", {}, 3), {2, 3, 0.25, 1});
  expect_all_near(weights_by("token_truncate", 0.5, 3), {2, 3, 0.5, 1});
  expect_all_near(weights_by("token_mask", {}, 3), {2, 0, 0.25, 1});
  expect_all_near(weights_by("token_mask", 0.5, {}), {2, 4, 0, 1});
  expect_all_near(weights_by("sequence_truncate", {}, 3), {3, 3, 0.25, 0.25});
  expect_all_near(weights_by("sequence_truncate", 0.5, {}), {8, 8, 0.5, 0.5});
  expect_all_near(weights_by("sequence_mask", {}, 3), {0, 0, 0.25, 0.25});
  expect_all_near(weights_by("sequence_mask", {}, 8.5), {8, 8, 0.25, 0.25});
  EXPECT_THROW(weights_by("token", {}, 3), InternalError);
}

TEST(Mismatch, IsConstant) {
  const at::Tensor old_logprobs = doubles({-1}).requires_grad_();
  const Segments completions({1}, at::Device(at::kCPU));
  EXPECT_FALSE(
      mismatch_weights("token_truncate", old_logprobs, doubles({-2}), completions, {}, {}).requires_grad());
}

TEST(KlEstimate, ValuesAndGradientsByHand) {
  const at::Tensor policy = doubles({-0.5, -1}), ref = doubles({-1, -0.5});
  const double up = std::exp(0.5), down = std::exp(-0.5);
  const auto kl = [&](const char* name) {
    return [&ref, name](const at::Tensor& p) { return kl_estimate(name, p, ref); };
  };
  expect_all_near(kl("k1")(policy), {0.5, -0.5});
  expect_all_near(kl("k2")(policy), {0.125, 0.125});
  expect_all_near(kl("k3")(policy), {down - 0.5, up - 1.5});
  expect_all_near(kl("k3_plus")(policy), {down - 0.5, up - 1.5});
  expect_all_near(gradient_of(kl("k1"), policy), {1, 1});
  expect_all_near(gradient_of(kl("k2"), policy), {0.5, -0.5});
  expect_all_near(gradient_of(kl("k3_plus"), policy), {0.5, -0.5});
  expect_all_near(gradient_of(kl("k3"), policy), {1 - down, 1 - up});
  for (const char* name : {"k1", "k2", "k3"}) expect_gradient_is_slope(kl(name), policy);
  EXPECT_THROW(kl_estimate("k4", policy, ref), InternalError);
}

TEST(KlEstimate, BiasCorrectedGradientIsRatioTimesLogRatio) {
  const at::Tensor policy = doubles({-0.5, -1}), ref = doubles({-1, -0.5}),
                   old_logprobs = doubles({-0.7, -1});
  const auto kl = [&](const at::Tensor& p) {
    return bias_corrected_k3(p, ref, token_ratio(p - old_logprobs));
  };
  const double ratio = std::exp(0.2);
  expect_all_near(kl(policy), {ratio * (std::exp(-0.5) - 0.5), std::exp(0.5) - 1.5});
  expect_all_near(gradient_of(kl, policy), {ratio * 0.5, -0.5});
  expect_gradient_is_slope(kl, policy);
}

TEST(Filters, OffPolicySequencesOfNegativeAdvantage) {
  const Segments completions({2, 2, 1, 1}, at::Device(at::kCPU));
  const at::Tensor policy = doubles({-2, -1, -2, -1, -1, -3});
  // Mean drift 0.5, 0.5, 0.4, and 0 where the sampler could not tell.
  const at::Tensor behaviour = doubles({-1, -1, -1, -1, -0.6, kNan});
  const at::Tensor advantages = doubles({-1, -1, 1, 0, -1, -1});
  expect_all_near(off_policy_mask(policy, behaviour, advantages, completions, 0.45), {0, 0, 1, 1, 1, 1});
  expect_all_near(off_policy_mask(policy, behaviour, advantages, completions, 0.5), {1, 1, 1, 1, 1, 1});
  expect_all_near(off_policy_mask(policy, behaviour, advantages, completions, 0.3), {0, 0, 1, 1, 0, 1});
}

TEST(Filters, BandOfLogRatios) {
  const at::Tensor log_ratio = doubles({-1, -0.5, 0, 0.5, 1});
  expect_all_near(log_ratio_band(log_ratio, -0.5, 0.5), {0, 1, 1, 1, 0});
  expect_all_near(log_ratio_band(log_ratio, {}, 0.5), {1, 1, 1, 1, 0});
  expect_all_near(log_ratio_band(log_ratio, -0.5, {}), {0, 1, 1, 1, 1});
}

TEST(BatchFilters, TopEntropyByTheQuantile) {
  const at::Tensor entropies = doubles({0.5, 0.1, 0.4, 0.2, 0.3});
  expect_all_near(top_entropy_mask(entropies, 0.25), {1, 0, 1, 0, 0});  // the 0.75 quantile is 0.4
  expect_all_near(top_entropy_mask(entropies, 0.2), {1, 0, 0, 0, 0});   // 0.42
  expect_all_near(top_entropy_mask(entropies, 1.0), {1, 1, 1, 1, 1});
  EXPECT_EQ(top_entropy_mask(doubles({}), 0.2).numel(), 0);
}

TEST(BatchFilters, CovarianceByHand) {
  expect_all_near(token_covariance(doubles({-1, -2, -3}), doubles({2, -1, -1})), {2, 0, 1});
}

TEST(BatchFilters, ClipCovDrawsFromTheCandidates) {
  std::vector<double> values(1000, 0.0);
  for (int64_t i = 0; i < 500; ++i) values[i] = 2.0;
  const at::Tensor covariance = doubles(values);
  at::Tensor is_clipped = at::zeros({1000}, at::kBool);
  is_clipped.slice(0, 0, 400).fill_(true);
  const at::Tensor mask = clip_cov_mask(covariance, is_clipped, {1, 5, 0.01, 7});
  EXPECT_EQ(mask.sum().item<double>(), 990);
  EXPECT_EQ(mask.slice(0, 400, 500).sum().item<double>(), 90);
  EXPECT_TRUE(at::equal(mask, clip_cov_mask(covariance, is_clipped, {1, 5, 0.01, 7})));
  EXPECT_FALSE(at::equal(mask, clip_cov_mask(covariance, is_clipped, {1, 5, 0.01, 8})));
  EXPECT_EQ(clip_cov_mask(covariance, is_clipped, {1, 5, 1e-9, 7}).sum().item<double>(), 999);
  EXPECT_EQ(clip_cov_mask(covariance, is_clipped, {1, 5, 0.5, 7}).sum().item<double>(), 900);
  EXPECT_EQ(clip_cov_mask(covariance, is_clipped, {2, 5, 0.5, 7}).sum().item<double>(), 1000);
}

TEST(BatchFilters, KlCovChoosesTheLargest) {
  const at::Tensor covariance = doubles({1, 5, -7, 3});
  expect_all_near(kl_cov_mask(covariance, 0.5), {0, 1, 0, 1});
  expect_all_near(kl_cov_mask(covariance, 1e-4), {0, 1, 0, 0});
}

TEST(BatchFilters, SecondMomentFallsToItsBound) {
  const at::Tensor log_ratio = doubles({0.1, -2, 0.3, 1});  // squares 0.01, 4, 0.09, 1
  expect_all_near(second_moment_mask(log_ratio, 2.0), {1, 1, 1, 1});
  expect_all_near(second_moment_mask(log_ratio, 0.4), {1, 0, 1, 1});
  expect_all_near(second_moment_mask(log_ratio, 0.06), {1, 0, 1, 0});
  expect_all_near(second_moment_mask(log_ratio, 0.001), {0, 0, 0, 0});
}

TEST(Controllers, BetaFollowsTheTarget) {
  EXPECT_DOUBLE_EQ(adapted_beta(0.1, 6.6, 6.0, 100, 1000), 0.1 * 1.01);
  EXPECT_DOUBLE_EQ(adapted_beta(0.1, 60, 6.0, 100, 1000), 0.1 * 1.02);
  EXPECT_DOUBLE_EQ(adapted_beta(0.1, 0, 6.0, 100, 1000), 0.1 * 0.98);
}

TEST(Controllers, EntropyCoefficientMovesOneStep) {
  const EntropyControl control;
  EXPECT_DOUBLE_EQ(adapted_entropy_coef(0.1, 0.2, control), 0.105);
  EXPECT_DOUBLE_EQ(adapted_entropy_coef(0.1, 0.21, control), 0.095);
  EXPECT_DOUBLE_EQ(adapted_entropy_coef(0.0, 1, control), 0.0);
  EXPECT_DOUBLE_EQ(adapted_entropy_coef(1.0, 0, control), 1.0);
  EXPECT_DOUBLE_EQ(applied_entropy_coef(0.1, 0.2, control), 0.1);
  EXPECT_DOUBLE_EQ(applied_entropy_coef(0.1, 0.3, control), 0.0);
}

}  // namespace
}  // namespace cohort
