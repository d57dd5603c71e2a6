// Weights over the steps of a run, and rewards that check others.
#include "cohort/rewards/reward_weight.h"

#include <gtest/gtest.h>

#include <limits>

#include "cohort/core/error.h"
#include "cohort/rewards/checker.h"
#include "cohort/rewards/reward_scorer.h"
#include "tests/core/test_files.h"

namespace cohort {
namespace {

RewardConfig scheduled(std::map<std::string, double> weight_at) {
  return {.name = "format", .weight_at = std::move(weight_at)};
}

TEST(RewardWeight, IsConstantWithoutASchedule) {
  const RewardConfig config{.name = "format", .weight = 0.5};
  for (const int64_t step : {1, 2, 1000000}) EXPECT_EQ(reward_weight(config, step), 0.5);
  EXPECT_EQ(last_reward_weight(config), 0.5);
  EXPECT_TRUE(ever_counts(config));
  EXPECT_FALSE(ever_counts({.name = "format", .weight = 0.0}));
}

// 0 up to step 10, then to 1 at step 20, to stay until 100 and fall to 0.2 at 300. As text "100" comes before
// "20".
TEST(RewardWeight, LiesOnStraightLinesBetweenItsSteps) {
  const RewardConfig config = scheduled({{"10", 0.0}, {"20", 1.0}, {"100", 1.0}, {"300", 0.2}});
  EXPECT_EQ(reward_weight(config, 1), 0.0);
  EXPECT_EQ(reward_weight(config, 10), 0.0);
  EXPECT_DOUBLE_EQ(reward_weight(config, 11), 0.1);
  EXPECT_DOUBLE_EQ(reward_weight(config, 15), 0.5);
  EXPECT_EQ(reward_weight(config, 20), 1.0);
  EXPECT_EQ(reward_weight(config, 60), 1.0);
  EXPECT_DOUBLE_EQ(reward_weight(config, 200), 0.6);
  EXPECT_EQ(reward_weight(config, 300), 0.2);
  EXPECT_EQ(reward_weight(config, 301), 0.2);
  EXPECT_EQ(last_reward_weight(config), 0.2);
  EXPECT_TRUE(ever_counts(config));
  EXPECT_FALSE(ever_counts(scheduled({{"1", 0.0}, {"5", 0.0}})));
}

TEST(RewardWeight, OfOnePointIsConstant) {
  const RewardConfig config = scheduled({{"7", 3.0}});
  for (const int64_t step : {1, 7, 8}) EXPECT_EQ(reward_weight(config, step), 3.0);
}

TEST(RewardWeight, RefusesWhatIsNoSchedule) {
  for (const char* step : {"0", "-3", "1.5", "ten", "", "1e3", "07", "+5", "99999999999999999999"}) {
    const std::string message = message_of<ConfigError>([&] { make_reward(scheduled({{step, 1.0}})); });
    EXPECT_NE(message.find(str("weight_at.\"", step, "\" is no step")), std::string::npos) << message;
  }
  EXPECT_THROW(make_reward(scheduled({{"1", std::numeric_limits<double>::infinity()}})), ConfigError);
  RewardConfig both = scheduled({{"1", 1.0}});
  both.weight = 2.0;
  EXPECT_NE(message_of<ConfigError>([&] { make_reward(both); }).find("no effect"), std::string::npos);
}

TEST(RewardWeight, TheScorerKnowsItForEveryStep) {
  RewardConfig rising = scheduled({{"1", 0.0}, {"5", 1.0}});
  RewardScorer scorer({rising, {.name = "tags", .type = "tag_count", .weight = 0.5}});
  EXPECT_EQ(scorer.weights(1), (std::vector<double>{0.0, 0.5}));
  EXPECT_EQ(scorer.weights(2), (std::vector<double>{0.25, 0.5}));
  EXPECT_EQ(scorer.weights(), (std::vector<double>{1.0, 0.5}));
}

TEST(Checkers, AreThePlacesOfBoth) {
  const std::vector<Checker> checkers = find_checkers({{.name = "a", .weight = 0.0, .checks = "c"},
                                                       {.name = "b"},
                                                       {.name = "c"},
                                                       {.name = "d", .weight = 0.0, .checks = "b"}});
  ASSERT_EQ(checkers.size(), 2U);
  EXPECT_EQ(checkers[0].checker, 0);
  EXPECT_EQ(checkers[0].checked, 2);
  EXPECT_EQ(checkers[1].checker, 3);
  EXPECT_EQ(checkers[1].checked, 1);
}

TEST(Checkers, AreRefusedWhereTheyCouldTrain) {
  const auto refusal = [](std::vector<RewardConfig> rewards) {
    return message_of<ConfigError>([&] { RewardScorer scorer(rewards); });
  };
  const RewardConfig format{.name = "format"};
  const auto checker = [](double weight, std::map<std::string, double> weight_at, const char* checks) {
    return RewardConfig{.name = "truth",
                        .type = "tag_count",
                        .weight = weight,
                        .weight_at = std::move(weight_at),
                        .checks = checks};
  };
  EXPECT_NE(refusal({format, checker(1.0, {}, "format")}).find("set weight = 0"), std::string::npos);
  EXPECT_NE(refusal({format, checker(1.0, {{"9", 1.0}}, "format")}).find("set weight = 0"),
            std::string::npos);
  EXPECT_NE(refusal({format, checker(0.0, {}, "formt")}).find("another [[reward]]"), std::string::npos);
  EXPECT_NE(refusal({format, checker(0.0, {}, "truth")}).find("another [[reward]]"), std::string::npos);
  const RewardConfig gated{.name = "format", .required = "truth"};
  EXPECT_NE(refusal({gated, checker(0.0, {}, "format")}).find("would let it train"), std::string::npos);
  EXPECT_NO_THROW(RewardScorer({format, checker(0.0, {}, "format")}));
}

// A worker's time on a completion, by the scorer's own clock.
TEST(RewardCalls, AreThereForEachRewardThatApplied) {
  RewardScorer scorer({{.name = "format"}, {.name = "tags", .type = "tag_count", .domains = {"math"}}});
  Prompt prompt;
  Completion completion;
  const auto begin = RewardCall::Clock::now();
  scorer.submit(0, 0, prompt, completion);
  prompt.fields["domain"] = "math";
  scorer.submit(0, 1, prompt, completion);
  std::vector<RewardCall> calls;
  scorer.take(0, &calls);
  const auto end = RewardCall::Clock::now();
  std::vector<int> counts(2, 0);
  for (const RewardCall& call : calls) {
    ++counts.at(call.reward);
    EXPECT_EQ(call.num_rows, 1);
    EXPECT_LE(begin, call.start);
    EXPECT_LE(call.start, call.end);
    EXPECT_LE(call.end, end);
  }
  EXPECT_EQ(counts, (std::vector<int>{2, 1}));
}

}  // namespace
}  // namespace cohort
