// Credit by entropy, by hand from the formulas of arXiv:2508.04349 and arXiv:2507.21848.
#include "cohort/objectives/entropy_credit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "cohort/core/error.h"
#include "tests/objectives/doubles.h"

namespace cohort {
namespace {

struct EntropyExample {
  std::vector<double> scores;
  std::vector<int64_t> ends;
  std::vector<int64_t> lengths;
  std::vector<double> entropies;

  TokenGroups groups() const { return {scores, ends, lengths, entropies}; }
};

void expect_values(const std::vector<double>& actual, const std::vector<double>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(actual[i])) << i;
    } else {
      EXPECT_NEAR(actual[i], expected[i], 1e-12) << i;
    }
  }
}

/// One right completion of H = 2, two wrong ones of H = 1 and 3, a token each.
const EntropyExample kThree{{1, 0, 0}, {3}, {1, 1, 1}, {2, 1, 3}};

TEST(Gtpo, SharesAmongWhatIsAlive) {
  const EntropyExample example{{1, 1, -1}, {3}, {2, 1, 2}, {1, 3, /**/ 3, /**/ 2, 4}};
  // Right at 0: 2 * 1/4 and 2 * 3/4; at 1 one alone. Each wrong one is alone.
  const EntropyShaping shaping{.outcome_weight = 0.9, .share_weight = 0.1};
  expect_values(gtpo_rewards(example.groups(), shaping), {0.95, 1.0, 1.05, -1.0, -1.0});
}

TEST(Gtpo, WrongOnesShareByInverseEntropy) {
  // 1 / (1 + 1/3) of 2 is 3/2, the rest is 1/2.
  expect_values(gtpo_rewards(kThree.groups(), {}), {1.1, -1.15, -1.05});
}

TEST(Gtpo, SharesAddUpToTheCompletionsAlive) {
  const EntropyExample example{{1, 1, 1, 0, 0},
                               {5},
                               {3, 2, 3, 2, 1},
                               {0.3, 1.7, 0.2, /**/ 2.5, 0.1, /**/ 0.9, 0.4, 1.1, /**/ 0.7, 0.2, /**/ 1.3}};
  const std::vector<double> rewards =
      gtpo_rewards(example.groups(), {.outcome_weight = 0.7, .share_weight = 0.3});
  EXPECT_NEAR(rewards[0] + rewards[3] + rewards[5], 3.0, 1e-12);
  EXPECT_NEAR(rewards[1] + rewards[4] + rewards[6], 3.0, 1e-12);
  EXPECT_NEAR(rewards[2] + rewards[7], 2.0, 1e-12);
  EXPECT_NEAR(rewards[8] + rewards[10], -2.0, 1e-12);
  EXPECT_NEAR(rewards[9], -1.0, 1e-12);
}

TEST(Gtpo, EachKindIsNormalisedOverTheWholeGroup) {
  // 1.1, 0, 0: mean 1.1/3, std 1.1/sqrt(3). 0, -1.15, -1.05: mean -2.2/3.
  const double root = std::sqrt(3.0), mean = -2.2 / 3.0;
  const double squares = mean * mean + std::pow(-1.15 - mean, 2) + std::pow(-1.05 - mean, 2);
  const double std = std::sqrt(squares / 2.0);
  expect_values(
      gtpo_advantages(kThree.groups(), {.epsilon = 0.0}),
      {2.0 / 3 * root - mean / std, -root / 3 + (-1.15 - mean) / std, -root / 3 + (-1.05 - mean) / std});
}

TEST(Gtpo, SignsLoseWhichAreRight) {
  const EntropyShaping shaping{.statistics = "signs", .epsilon = 0.0};
  const double root = std::sqrt(0.5);
  expect_values(gtpo_advantages(kThree.groups(), shaping), {0.0, -root, root});
}

TEST(Gtpo, OrAllOfTheGroupTogether) {
  const EntropyShaping shaping{.statistics = "group", .epsilon = 0.0};
  // 1.1, -1.15 and -1.05: mean -1.1 / 3.
  const double mean = -1.1 / 3.0;
  const double squares = std::pow(1.1 - mean, 2) + std::pow(-1.15 - mean, 2) + std::pow(-1.05 - mean, 2);
  const double std = std::sqrt(squares / 2.0);
  expect_values(gtpo_advantages(kThree.groups(), shaping),
                {(1.1 - mean) / std, (-1.15 - mean) / std, (-1.05 - mean) / std});
}

TEST(Gtpo, GroupsWithoutDifferenceHaveZero) {
  const EntropyExample example{
      {1, 1, 0, 0, 1, kNoScore}, {2, 4, 6}, {1, 2, 1, 1, 1, 1}, {1, 2, 3, 4, 5, 6, 7}};
  for (const double advantage : gtpo_advantages(example.groups(), {})) EXPECT_EQ(advantage, 0.0);
  for (const double advantage : grpo_s_advantages(example.groups(), {})) EXPECT_EQ(advantage, 0.0);
}

TEST(Gtpo, NoScoreTakesNoPart) {
  const EntropyExample with{{1, kNoScore, 0, 0}, {4}, {1, 2, 1, 1}, {2, 9, 9, 1, 3}};
  const std::vector<double> three = gtpo_advantages(kThree.groups(), {});
  expect_values(gtpo_advantages(with.groups(), {}), {three[0], 0, 0, three[1], three[2]});
  expect_values(gtpo_rewards(with.groups(), {}), {1.1, kNoScore, kNoScore, -1.15, -1.05});
}

TEST(Gtpo, EntropiesOfZeroHaveAFloor) {
  const EntropyExample example{{1, 0, 0}, {3}, {1, 1, 1}, {0, 0, 0}};
  expect_values(gtpo_rewards(example.groups(), {}), {1.1, -1.1, -1.1});
}

TEST(Gtpo, EveryTokenNeedsItsEntropy) {
  const EntropyExample example{{1, 0}, {2}, {1, 1}, {2}};
  EXPECT_THROW(gtpo_rewards(example.groups(), {}), InternalError);
}

TEST(GrpoS, SharesMeanEntropies) {
  // Mean entropies 2 and 6 of the right ones: 2 * 1/4 and 2 * 3/4. The wrong one is alone; an empty one takes
  // no part.
  const EntropyExample example{{1, 1, 0, 0}, {4}, {2, 1, 1, 0}, {1, 3, /**/ 6, /**/ 5}};
  expect_values(grpo_s_rewards(example.groups(), {}), {1.05, 1.15, -1.1, kNoScore});
  const std::vector<double> advantages = grpo_s_advantages(kThree.groups(), {});
  expect_values(advantages, gtpo_advantages(kThree.groups(), {}));  // with one token each they are the same
  EXPECT_GT(advantages[0], 0.0);
}

TEST(Edge, DividesByRelativeEntropy) {
  // Mean entropies 1 and 3, their mean 2.
  const EntropyExample example{{1, 0}, {2}, {2, 1}, {0, 2, /**/ 3}};
  expect_values(edge_advantages(std::vector<double>{1, -1}, example.groups()), {2.0, -2.0 / 3});
}

TEST(Edge, QuotientsHaveBounds) {
  const EntropyExample example{{1, 0, kNoScore, 0}, {4}, {1, 1, 1, 0}, {0.0, 1.0, 50.0}};
  // Mean of 0 and 1 is 1/2: quotients 0, which is cut to 0.1, and 2. What has no score or token is left
  // alone.
  expect_values(edge_advantages(std::vector<double>{1, -1, kNoScore, -1}, example.groups()),
                {10, -0.5, kNoScore, -1});
}

}  // namespace
}  // namespace cohort
