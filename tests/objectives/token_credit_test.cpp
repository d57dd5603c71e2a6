// Credit of tokens by hand: steps, returns, generalised advantages, and what takes completions out.
#include "cohort/objectives/token_credit.h"

#include <gtest/gtest.h>

#include <limits>

#include "cohort/objectives/group_filter.h"
#include "cohort/objectives/state_credit.h"
#include "tests/objectives/doubles.h"

namespace cohort {
namespace {

void expect_near(const std::vector<double>& actual, const std::vector<double>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-12) << i;
}

TEST(TokenCredit, StepsToComeAddUp) {
  const std::vector<StepScore> steps{{1.0, 3}, {0.5, 1}};
  expect_near(suffix_credit(steps, 5, 1.0), {1.5, 1.5, 1.0, 1.0, 0.0});
  expect_near(suffix_credit(steps, 5, 0.5), {1.0, 1.0, 1.0, 1.0, 0.0});
  expect_near(suffix_credit(steps, 2, 1.0), {1.5, 1.5});  // cut: both steps end with the last token
  expect_near(suffix_credit(steps, 0, 1.0), {});
  expect_near(suffix_credit({}, 2, 1.0), {0, 0});
}

TEST(TokenCredit, SegmentsStandAlone) {
  const std::vector<StepScore> steps{{1.0, 3}, {0.5, 1}};
  expect_near(segment_credit(steps, 5), {0.5, 0.5, 1.0, 1.0, 0.0});
  expect_near(segment_credit({{1.0, 1}, {0.5, 1}}, 2), {1.5, 1.5});
}

TEST(TokenCredit, DifferencesOfValuesAddUpToTheOutcome) {
  // A reward of 1 redistributed over segments that end at 1, 2 and 4 as V_k - V_(k-1), from V_0 = 0.25.
  const std::vector<double> values{0.25, 0.4, 0.9, 1.0};
  std::vector<StepScore> steps;
  for (size_t k = 1; k < values.size(); ++k) {
    steps.push_back({values[k] - values[k - 1], std::vector<int64_t>{0, 1, 2, 4}[k]});
  }
  EXPECT_NEAR(suffix_credit(steps, 5, 1.0)[0], 1.0 - 0.25, 1e-12);
  const std::vector<double> segments = segment_credit(steps, 5);
  EXPECT_NEAR(segments[0] + segments[2] + segments[4], 1.0 - 0.25, 1e-12);
}

TEST(TokenCredit, ReturnsAreDiscountedAndPay) {
  const std::vector<double> penalties{0.1, 0.2, 0.3};
  expect_near(discounted_returns(1.0, penalties, 3, 0.5), {-0.025, 0.15, 0.7});
  expect_near(discounted_returns(2.0, {}, 3, 1.0), {2, 2, 2});
  expect_near(discounted_returns(2.0, {}, 0, 1.0), {});
}

TEST(TokenCredit, GeneralisedAdvantages) {
  const std::vector<double> rewards{0, 0, 1}, values{0.5, 0.4, 0.2};
  // delta: 0.9 * 0.4 - 0.5, 0.9 * 0.2 - 0.4, 1 - 0.2; gamma * lambda = 0.72.
  expect_near(generalised_advantages(rewards, values, 0.9, 0.8), {0.11632, 0.356, 0.8});
  // Lambda 1 is the return minus the value, lambda 0 the one-step difference.
  expect_near(generalised_advantages(rewards, values, 1.0, 1.0), {0.5, 0.6, 0.8});
  expect_near(generalised_advantages(rewards, values, 1.0, 0.0), {-0.1, -0.2, 0.8});
}

TEST(TokenCredit, LambdaGrowsWithLength) {
  EXPECT_DOUBLE_EQ(length_adaptive_lambda(0.05, 100), 0.8);
  EXPECT_EQ(length_adaptive_lambda(0.05, 10), 0.0);
  EXPECT_EQ(length_adaptive_lambda(0.05, 0), 0.0);
}

TEST(StateCredit, ComparesWhatFollowedTheSameState) {
  // One group: 0 -> 1 with rewards 0, 1 and 0 -> 2 with rewards 0, 0. Discounted returns 0.5, 1 and 0, 0, so
  // that V(0) = 0.25, V(1) = 1, V(2) = 0. The second group knows nothing of the first one's states.
  const std::vector<double> rewards{0, 1, 0, 0, 3};
  const std::vector<int64_t> completions{0, 0, 1, 1, 2}, states{0, 1, 0, 2, 0}, ends{4, 5};
  const StateSteps steps{rewards, completions, states, ends};
  expect_near(state_group_advantages(steps, 0.5, 1.0), {0.25, 0, -0.25, 0, 0});
  // A state that comes twice in a completion counts twice: returns 1 and 1, 0 and 0, mean 0.5.
  const std::vector<int64_t> loops{0, 0, 0, 0, 0};
  expect_near(state_group_advantages({rewards, completions, loops, ends}, 1.0, 0.5),
              {0.25, 0.5, -0.25, -0.5, 0});
}

TEST(StateCredit, AnchorStatesCompareTheReturnsOfTheirSteps) {
  // Two groups. In the first, completions 0 -> 1 -> 0 with rewards 0, 0, 1 and 0 -> 2 with rewards 0.5, 0.
  // Returns with gamma 0.5 are 0.25, 0.5, 1 and 0.5, 0. State 0 begins steps of 0.25, 1 and 0.5, mean 7/12;
  // states 1 and 2 begin one each. The second group's states are its own.
  const std::vector<double> rewards{0, 0, 1, 0.5, 0, 3, 1};
  const std::vector<int64_t> completions{0, 0, 0, 1, 1, 2, 3}, states{0, 1, 0, 0, 2, 0, 0}, ends{5, 7};
  const StateSteps steps{rewards, completions, states, ends};
  const std::vector<double> centred{-4.0 / 12, 0, 5.0 / 12, -1.0 / 12, 0, 1, -1};
  expect_near(anchor_state_advantages(steps, 0.5, "group_mean", {.kind = "none"}), centred);
  const double std = std::sqrt((16.0 + 25.0 + 1.0) / 144 / 2), other = std::sqrt(2.0);
  expect_near(anchor_state_advantages(steps, 0.5, "group_mean", {.kind = "group", .epsilon = 0.0}),
              {-4.0 / 12 / std, 0, 5.0 / 12 / std, -1.0 / 12 / std, 0, 1 / other, -1 / other});
  const auto exact = anchor_state_advantages(steps, 0.5, "group_loo", {.kind = "none"});
  expect_near(exact, {-0.5, 0, 0.625, -0.125, 0, 2, -2});
  EXPECT_EQ(exact[1], 0.0);
  EXPECT_EQ(exact[4], 0.0);
}

TEST(GroupFilter, KeepsTheShortestOrTheMostEfficient) {
  const std::vector<double> scores{3, 2, 9, kNoScore, 1, 1};
  const std::vector<int64_t> ends{4, 6}, lengths{1, 2, 18, 1, 0, 1}, two{2, 2}, one_and_two{1, 2}, one{1, 1};
  EXPECT_EQ(best_of_groups(scores, ends, lengths, two, "length"), (std::vector<uint8_t>{1, 1, 0, 0, 1, 1}));
  // Per token 3, 1 and 0.5; an empty completion counts one token, so that 1 ties with 1.
  EXPECT_EQ(best_of_groups(scores, ends, lengths, two, "reward_per_token"),
            (std::vector<uint8_t>{1, 1, 0, 0, 1, 1}));
  EXPECT_EQ(best_of_groups(scores, ends, lengths, one_and_two, "reward_per_token"),
            (std::vector<uint8_t>{1, 0, 0, 0, 1, 1}));
  EXPECT_EQ(best_of_groups(scores, ends, lengths, one, "reward_per_token"),
            (std::vector<uint8_t>{1, 0, 0, 0, 1, 0}));
  // By length it would be the other one.
  EXPECT_EQ(best_of_groups(std::vector<double>{0, 9}, std::vector<int64_t>{2}, std::vector<int64_t>{1, 2},
                           std::vector<int64_t>{1}, "reward_per_token"),
            (std::vector<uint8_t>{0, 1}));
}

TEST(GroupFilter, EasyGroupsKeepFewer) {
  const std::vector<double> seen{0.1, 0.2, 0.3, 0.4};
  EXPECT_EQ(adaptive_group_k(0.35, seen), 4);  // above three of four
  EXPECT_EQ(adaptive_group_k(0.3, seen), 6);
  EXPECT_EQ(adaptive_group_k(0.2, seen), 8);
  EXPECT_EQ(adaptive_group_k(1.0, std::span(seen).first(3)), 8);  // too few to tell
}

TEST(GroupFilter, OneCompletionIsTheMedian) {
  const std::vector<double> scores{1, 0, 0, /**/ 3, 1, 2, /**/ 1, 2, /**/ kNoScore, 5, /**/ 4, 4};
  EXPECT_EQ(without_pivots(scores, std::vector<int64_t>{3, 6, 8, 10, 12}),
            (std::vector<uint8_t>{1, 0, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1}));
}

}  // namespace
}  // namespace cohort
