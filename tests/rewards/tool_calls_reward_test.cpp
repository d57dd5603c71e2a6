// PROVE's parts for traces by hand, and CORA's consistency of thinking and answer.
#include <gtest/gtest.h>

#include "cohort/rewards/tool_trace.h"
#include "tests/rewards/test_rows.h"

namespace cohort {
namespace {

Json call(const char* name, Json arguments) {
  return {{"type", "function"}, {"function", {{"name", name}, {"arguments", std::move(arguments)}}}};
}

Json turn(Json calls) { return {{"role", "assistant"}, {"content", ""}, {"tool_calls", std::move(calls)}}; }

Json result(const char* name, const char* content) {
  return {{"role", "tool"}, {"name", name}, {"content", content}};
}

Completion episode_of(Json messages) {
  Completion completion = make_completion("done");
  completion.episode.emplace().messages = std::move(messages);
  return completion;
}

double score(const Json& gold, const Completion& completion) {
  const RewardResult result =
      make_reward({.name = "tool_calls"})->score(make_prompt({{"tool_calls", gold}}), completion);
  EXPECT_EQ(result.status, RewardStatus::kOk) << result.detail;
  return result.score;
}

// Finds a user, then mails it: the second call needs the first.
const Json kGold = {{{"name", "find"}, {"arguments", {{"user", "Ann"}}}},
                    {{"name", "mail"}, {"arguments", {{"to", 7}, {"text", "Hi"}}}, {"depends_on", {0}}}};

const Json kFind = call("find", {{"user", "Ann"}}), kFound = result("find", "7");
const Json kMail = call("mail", {{"to", 7}, {"text", "Hello"}}), kMailed = result("mail", "ok");

TEST(ToolCallsReward, TheCallsOfTheRow) {
  // All executed, covered and named; 2 of 3 argument values: 0.3 + 0.4 + 0.1 + 0.2 * 2 / 3.
  EXPECT_DOUBLE_EQ(score(kGold, episode_of({turn({kFind}), kFound, turn({kMail}), kMailed})),
                   0.8 + 0.2 * 2.0 / 3.0);
}

TEST(ToolCallsReward, ACallBeforeWhatItNeedsCoversNothing) {
  // mail came first: coverage 1/2, argument values 1/3.
  EXPECT_DOUBLE_EQ(score(kGold, episode_of({turn({kMail, kFind}), kMailed, kFound})),
                   0.3 + 0.4 / 2 + 0.1 + 0.2 / 3.0);
}

TEST(ToolCallsReward, CallsBeyondTheBudgetCost) {
  // Budget ceil(1.25 * 2) = 3; six calls exceed it by 3/3. Names: 2 * 2 / (6 + 2).
  const Json calls = {kFind, kMail, kFind, kFind, kFind, kFind};
  EXPECT_DOUBLE_EQ(score(kGold, episode_of({turn(calls), kFound, kMailed, kFound, kFound, kFound, kFound})),
                   0.3 + 0.4 + 0.1 / 2 + 0.2 * 2.0 / 3.0 - 0.2);
}

TEST(ToolCallsReward, ValidityIsGraduated) {
  const EpisodeRecord episode{
      .messages = {turn({kFind, kFind, call("fin", {}), kMail}),
                   result("", R"({"error": "the call is no JSON"})"),
                   result("find", R"({"error": "wrong arguments: /user is missing"})"), kFound,
                   result("fin", R"({"error": "Tool fin not found; did you mean find?"})"),
                   result("mail", R"({"error": "no such address"})")}};
  std::vector<CallStage> stages;
  for (const TracedCall& traced : traced_calls(episode)) stages.push_back(traced.stage);
  EXPECT_EQ(stages, (std::vector<CallStage>{CallStage::kMalformed, CallStage::kParsed, CallStage::kExecuted,
                                            CallStage::kParsed, CallStage::kValid}));
  // Validity (0 + 1 + 3 + 1 + 2) / 15; find alone is covered; names 2 * 2 / (5 + 2); 1 of 3 values; budget 3.
  Completion completion = make_completion("");
  completion.episode = episode;
  EXPECT_DOUBLE_EQ(score(kGold, completion),
                   0.3 * 7.0 / 15.0 + 0.4 / 2 + 0.1 * 4.0 / 7.0 + 0.2 / 3.0 - 0.2 * 2.0 / 3.0);
}

TEST(ToolCallsReward, RowsThatWantNoCall) {
  EXPECT_EQ(score(Json::array(), episode_of({turn({})})), 1.0);
  EXPECT_EQ(score(Json::array(), episode_of({turn({kFind}), kFound})), 0.0);
  EXPECT_EQ(score(kGold, episode_of({turn({})})), 0.0);
}

TEST(ToolCallsReward, WhatCannotBeJudged) {
  const auto reward = make_reward({.name = "tool_calls"});
  EXPECT_EQ(reward->score(make_prompt({{"tool_calls", kGold}}), make_completion("")).status,
            RewardStatus::kError);
  for (const Json& gold : {Json("find"), Json::array({"find"}), Json::array({Json{{"name", 1}}}),
                           Json::array({Json{{"name", "a"}, {"depends_on", {0}}}})}) {
    EXPECT_EQ(reward->score(make_prompt({{"tool_calls", gold}}), episode_of({turn({})})).status,
              RewardStatus::kUnparsed)
        << gold;
  }
}

std::string consistency(const std::string& text) {
  return brief(make_reward({.name = "consistency"})->score(make_prompt({}), make_completion(text)));
}

TEST(ConsistencyReward, TheThinkingArrivesAtTheAnswer) {
  EXPECT_EQ(consistency("<think>3 * 4 is \\boxed{12}</think>The answer is 12."), "1 ok");
  EXPECT_EQ(consistency("<think>so the answer is 1/2.</think>\\boxed{0.5}"), "1 ok");
  EXPECT_EQ(consistency("<think>3 * 4 is \\boxed{12}</think>The answer is 13."), "0 ok");
  EXPECT_EQ(consistency("<think>hm</think>The answer is 12."), "0 ok");
  EXPECT_EQ(consistency("The answer is 12."), "0 ok");
  EXPECT_EQ(consistency("<think>The answer is 12.</think>"), "0 ok");
}

}  // namespace
}  // namespace cohort
