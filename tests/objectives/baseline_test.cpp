// Baselines by hand, from the formulas of their papers.
#include "cohort/objectives/baseline.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/objectives/doubles.h"

namespace cohort {
namespace {

const std::vector<std::string> kGroupBaselines{"group_mean",         "group_loo",   "group_median",
                                               "group_len_weighted", "second_best", "pairwise"};

/// Scores with lengths and likelihoods that differ, so that every baseline can be asked for.
struct Example {
  std::vector<double> scores;
  std::vector<int64_t> ends;
  std::vector<int64_t> lengths{};
  std::vector<double> greedy{};
  std::vector<double> mean_logprobs{};
  std::vector<Fork> forks{};

  std::vector<double> centred(const std::string& baseline, double temperature = 1.0) const {
    return centred_scores({.scores = scores,
                           .ends = ends,
                           .lengths = lengths,
                           .greedy_scores = greedy,
                           .mean_logprobs = mean_logprobs,
                           .forks = forks,
                           .keys = {.pairwise = {temperature}}},
                          baseline);
  }
};

void expect_numbers(const std::vector<double>& actual, const std::vector<double>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(actual[i])) << i;
    } else {
      EXPECT_NEAR(actual[i], expected[i], 1e-12) << i;
    }
  }
}

TEST(Baseline, OfOneGroupByHand) {
  const Example example{{1, 0, 0, 2}, {4}, {2, 4, 4, 10}, {0.5}};
  expect_numbers(example.centred("none"), {1, 0, 0, 2});
  expect_numbers(example.centred("critic"), {1, 0, 0, 2});
  expect_numbers(example.centred("group_mean"), {0.25, -0.75, -0.75, 1.25});
  // The means of the others are 2/3, 1, 1 and 1/3.
  expect_numbers(example.centred("group_loo"), {1.0 / 3, -1, -1, 5.0 / 3});
  expect_numbers(example.centred("group_median"), {0.5, -0.5, -0.5, 1.5});
  // (2 * 1 + 10 * 2) / 20 = 1.1.
  expect_numbers(example.centred("group_len_weighted"), {-0.1, -1.1, -1.1, 0.9});
  expect_numbers(example.centred("greedy"), {0.5, -0.5, -0.5, 1.5});
  expect_numbers(example.centred("second_best"), {0, 0, 0, 1});
}

// The second group is a tree: C forks from A after one segment, D from C after two. Of A: over the group 1/2,
// over A, C and D 1/3. Of C: -1/2, -2/3, and over C and D -1/2.
TEST(Baseline, OfSubtreesByHand) {
  const Example example{
      .scores = {1, 0, 1, 0, 0, 1}, .ends = {2, 6}, .forks = {{}, {0, 1}, {}, {}, {0, 1}, {2, 2}}};
  expect_numbers(example.centred("subtrees"), {0.5, -0.5, 5.0 / 12, -0.5, -5.0 / 9, 4.0 / 9});
}

// B leaves A after two segments, and C leaves B after one, which B has from A.
TEST(Baseline, AForkBeforeAForkIsOfTheTrunk) {
  const Example example{.scores = {1, 1, 0}, .ends = {3}, .forks = {{}, {0, 2}, {1, 1}}};
  // Group and first subtree: means 2/3; A and B alone after two segments: mean 1.
  expect_numbers(example.centred("subtrees"), {2.0 / 9, 2.0 / 9, -2.0 / 3});
}

TEST(Baseline, ASubtreeCountsScoresAlone) {
  const Example example{.scores = {1, kNoScore, 0}, .ends = {3}, .forks = {{}, {0, 3}, {1, 1}}};
  expect_numbers(example.centred("subtrees"), {0.5, kNoScore, -0.5});
}

TEST(Baseline, TheMedianOfAnOddGroupIsAScore) {
  expect_numbers(Example{{1, 0, 5}, {3}}.centred("group_median"), {0, -1, 4});
}

TEST(Baseline, TwoThatAreBestAlikeHaveNothingOverTheSecond) {
  expect_numbers(Example{{2, 2, 1}, {3}}.centred("second_best"), {0, 0, 0});
  expect_numbers(Example{{1, 4, 2}, {3}}.centred("second_best"), {0, 2, 0});
}

TEST(Baseline, GroupsAreApartAndTheBatchIsNot) {
  const Example example{{1, 3, 5, 7}, {2, 4}, {}, {0, 10}};
  expect_numbers(example.centred("group_mean"), {-1, 1, -1, 1});
  expect_numbers(example.centred("batch_mean"), {-3, -1, 1, 3});
  expect_numbers(example.centred("greedy"), {1, 3, -5, -3});
}

TEST(Baseline, NoScoreTakesNoPart) {
  const Example example{{1, kNoScore, 3, kNoScore}, {3, 4}, {1, 9, 1, 5}, {}, {-1, -1, -1, -1}};
  expect_numbers(example.centred("group_mean"), {-1, kNoScore, 1, kNoScore});
  expect_numbers(example.centred("group_loo"), {-2, kNoScore, 2, kNoScore});
  expect_numbers(example.centred("group_median"), {-1, kNoScore, 1, kNoScore});
  expect_numbers(example.centred("group_len_weighted"), {-1, kNoScore, 1, kNoScore});
  expect_numbers(example.centred("second_best"), {0, kNoScore, 2, kNoScore});
  expect_numbers(example.centred("pairwise"), {-2, kNoScore, 2, kNoScore});
  expect_numbers(example.centred("batch_mean"), {-1, kNoScore, 1, kNoScore});
}

TEST(Baseline, EqualScoresGiveExactlyZero) {
  Example example{std::vector<double>(32, 0.7), {16, 32}};
  example.scores[20] = std::nextafter(0.7, 1.0);
  for (int i = 0; i < 32; ++i) {
    example.lengths.push_back(i);
    example.mean_logprobs.push_back(-i);
  }
  for (const std::string& baseline : kGroupBaselines) {
    EXPECT_TRUE(find_baseline(baseline).is_of_group);
    const std::vector<double> centred = example.centred(baseline);
    for (int i = 0; i < 16; ++i) EXPECT_EQ(centred[i], 0.0) << baseline;
    EXPECT_GT(centred[20], 0.0) << baseline;
  }
  for (const std::string baseline : {"none", "batch_mean", "greedy", "critic"}) {
    EXPECT_FALSE(find_baseline(baseline).is_of_group);
  }
}

TEST(Baseline, AnEmptyGroupHasNoScores) {
  expect_numbers(Example{{1, 3}, {0, 2, 2}}.centred("group_mean"), {-1, 1});
}

TEST(Baseline, PairsWeighMoreWhereTheSamplerRanksThemWrongly) {
  // s falls from the first to the second, as the rewards do: w = sigmoid(-1), A = 2 w (1 - 0).
  const double right = 2.0 / (1.0 + std::exp(1.0)), wrong = 2.0 / (1.0 + std::exp(-1.0));
  expect_numbers(Example{{1, 0}, {2}, {}, {}, {-1, -2}}.centred("pairwise"), {right, -right});
  expect_numbers(Example{{1, 0}, {2}, {}, {}, {-2, -1}}.centred("pairwise"), {wrong, -wrong});
  // A temperature of 2 halves the exponent.
  const double mild = 2.0 / (1.0 + std::exp(-0.5));
  expect_numbers(Example{{1, 0}, {2}, {}, {}, {-2, -1}}.centred("pairwise", 2.0), {mild, -mild});
}

TEST(Baseline, PairsOfWeightOneHalfAreLeaveOneOut) {
  const Example example{{1, 0.25, -3, 2, 0.25}, {5}, {}, {}, {-1, -1, -1, -1, -1}};
  expect_numbers(example.centred("pairwise"), example.centred("group_loo"));
  double sum = 0.0;
  for (const double value : Example{{1, 0.25, -3}, {3}, {}, {}, {-1, -4, 2}}.centred("pairwise"))
    sum += value;
  EXPECT_NEAR(sum, 0.0, 1e-12);
}

}  // namespace
}  // namespace cohort
