// Scales by hand.
#include "cohort/objectives/scale.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "cohort/core/error.h"
#include "cohort/objectives/sample_statistics.h"
#include "tests/objectives/doubles.h"

namespace cohort {
namespace {

std::vector<double> scaled(const std::vector<double>& scores, const std::vector<int64_t>& ends,
                           const ScaleOptions& options) {
  const ScoredGroups groups{.scores = scores, .ends = ends};
  return scaled_scores(centred_scores(groups, "group_mean"), groups, options);
}

TEST(SampleStatistics, ByHand) {
  const std::vector<double> values{1, kNoScore, 0, 0, 0};
  EXPECT_EQ(spread_of(values, 1).count, 4);
  EXPECT_DOUBLE_EQ(spread_of(values, 1).mean, 0.25);
  EXPECT_DOUBLE_EQ(spread_of(values, 1).std, 0.5);  // (9/16 + 3/16) / 3 = 1/4
  EXPECT_DOUBLE_EQ(spread_of(values, 0).std, std::sqrt(3.0) / 4.0);
  EXPECT_EQ(spread_of(std::vector<double>(16, 0.7), 1).std, 0.0);
  EXPECT_EQ(spread_of(std::vector<double>{kNoScore}, 1).count, 0);
  EXPECT_EQ(spread_of(std::vector<double>{5.0}, 1).std, 0.0);
}

TEST(SampleStatistics, Medians) {
  EXPECT_EQ(median_of(std::vector<double>{3, 1, kNoScore, 2}), 2.0);
  EXPECT_EQ(median_of(std::vector<double>{3, 1, 10, 2}), 2.5);
  EXPECT_TRUE(std::isnan(median_of(std::vector<double>{kNoScore})));
  // Median 1.5, deviations 1.5, 0.5, 0.5 and 8.5.
  EXPECT_EQ(median_absolute_deviation(std::vector<double>{0, 1, 2, 10}), 1.0);
  EXPECT_EQ(median_absolute_deviation(std::vector<double>{0, 0, kNoScore, 0, 1}), 0.0);
}

TEST(Scale, OfTheGroup) {
  const std::vector<double> bessel = scaled({1, 0, 0, 0, 5, 5}, {4, 6}, {"group", 1, 1e-4});
  EXPECT_DOUBLE_EQ(bessel[0], 0.75 / (0.5 + 1e-4));
  EXPECT_DOUBLE_EQ(bessel[1], -0.25 / (0.5 + 1e-4));
  EXPECT_EQ(bessel[4], 0.0);
  const std::vector<double> population = scaled({1, 0}, {2}, {"group", 0, 0.0});
  EXPECT_DOUBLE_EQ(population[0],
                   1.0);  // two completions: 1 and -1, and with Bessel's correction 1 / sqrt(2)
  EXPECT_DOUBLE_EQ(scaled({1, 0}, {2}, {"group", 1, 0.0})[0], std::sqrt(0.5));
}

TEST(Scale, OfTheBatch) {
  // Raw scores 0, 2, 5, 5: mean 3, squares 9 + 1 + 4 + 4, variance 6. Centred -1, 1, 0, 0: variance 2/3.
  const std::vector<double> raw = scaled({0, 2, 5, 5}, {2, 4}, {"batch", 1, 0.5});
  EXPECT_DOUBLE_EQ(raw[1], 1.0 / (std::sqrt(6.0) + 0.5));
  EXPECT_EQ(raw[2], 0.0);
  EXPECT_DOUBLE_EQ(scaled({0, 2, 5, 5}, {2, 4}, {"batch_centred", 1, 0.5})[0],
                   -1.0 / (std::sqrt(2.0 / 3.0) + 0.5));
  EXPECT_EQ(scaled({5, 5, 5, 5}, {2, 4}, {"batch", 1, 0.0})[0], 0.0);
}

TEST(Scale, NoneAndMedianDeviation) {
  EXPECT_EQ(scaled({0, 2}, {2}, {"none", 1, 1e-4})[1], 1.0);
  const std::vector<double> scores{0, 1, 2, 10};
  const std::vector<int64_t> ends{4};
  const ScoredGroups groups{.scores = scores, .ends = ends};
  const std::vector<double> centred = centred_scores(groups, "group_median");
  EXPECT_DOUBLE_EQ(scaled_scores(centred, groups, {"mad", 1, 1e-3})[3], 8.5 / (1.0 + 1e-3));
}

TEST(Scale, NoScoreStaysNone) {
  const std::vector<double> values = scaled({0, kNoScore, 2}, {3}, {"group", 1, 0.0});
  EXPECT_TRUE(std::isnan(values[1]));
  EXPECT_DOUBLE_EQ(values[2], std::sqrt(0.5));
}

TEST(Scale, BetaDensityByMoments) {
  // Means 1/4 and 3/4: mean 1/2, Bessel variance 1/8, so a = b = 1/2 and alpha = beta = 7/6.
  const double density =
      std::tgamma(7.0 / 3.0) / std::pow(std::tgamma(7.0 / 6.0), 2) * std::pow(3.0 / 16.0, 1.0 / 6.0);
  const std::vector<double> weights = beta_density_weights(std::vector<double>{0.25, 0.75}, 1);
  EXPECT_NEAR(weights[0], 1.0 / density, 1e-12);
  EXPECT_NEAR(weights[1], 1.0 / density, 1e-12);
  const std::vector<double> values = scaled({1, 0, 0, 0, 1, 1, 1, 0}, {4, 8}, {"beta_density", 1, 1e-4});
  EXPECT_NEAR(values[0], 0.75 / density, 1e-12);
  EXPECT_NEAR(values[7], -0.75 / density, 1e-12);
}

TEST(Scale, BetaDensityAtItsEdges) {
  // A variance above m (1 - m) makes a and b negative, which are cut: the density of Beta(1, 1) is 1.
  EXPECT_EQ(beta_density_weights(std::vector<double>{0.1, 0.9}, 1), (std::vector<double>{1, 1}));
  EXPECT_EQ(beta_density_weights(std::vector<double>{0.3, 0.3}, 1), (std::vector<double>{1, 1}));
  EXPECT_EQ(beta_density_weights(std::vector<double>{0.3}, 1), (std::vector<double>{1}));
  // The density is 0 at 0, and 1 / 0 is cut.
  EXPECT_EQ(beta_density_weights(std::vector<double>{0.0, 0.5, 0.6, 0.5}, 1)[0], 1e6);
  EXPECT_EQ(beta_density_weights(std::vector<double>{kNoScore, 0.25, 0.75}, 1)[0], 1.0);
  EXPECT_THROW(scaled({2, 3}, {2}, {"beta_density", 1, 1e-4}), ConfigError);
  EXPECT_THROW(scaled({-1, 0}, {2}, {"beta_density", 1, 1e-4}), ConfigError);
}

TEST(Scale, WhiteningCountsTokens) {
  // 1, 1, 1, -1: mean 1/2, squares 3/4 + 9/4, variance 1.
  const std::vector<double> advantages{1, kNoScore, -1};
  const std::vector<double> tokens = whitened(advantages, std::vector<int64_t>{3, 7, 1}, 1, 0.25);
  EXPECT_DOUBLE_EQ(tokens[0], 0.5 / 1.25);
  EXPECT_TRUE(std::isnan(tokens[1]));
  EXPECT_DOUBLE_EQ(tokens[2], -1.5 / 1.25);
  EXPECT_DOUBLE_EQ(whitened(advantages, {}, 1, 0.0)[0], std::sqrt(0.5));
  EXPECT_EQ(whitened(std::vector<double>{0.7, 0.7, 0.7}, {}, 1, 0.0)[0], 0.0);
}

}  // namespace
}  // namespace cohort
