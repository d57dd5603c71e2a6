#include "cohort/env/tool.h"

#include <gtest/gtest.h>

#include "cohort/core/error.h"
#include "cohort/env/calculator_tool.h"
#include "cohort/env/guess_number.h"
#include "tests/env/replies.h"

namespace cohort {
namespace {

ToolCall call_of(const std::string& name, const char* arguments) {
  return {.name = name, .arguments = Json::parse(arguments)};
}

std::vector<std::unique_ptr<Tool>> calculator() {
  std::vector<std::unique_ptr<Tool>> tools;
  tools.push_back(make_calculator());
  return tools;
}

TEST(ToolEnvironment, AnswersCalls) {
  ToolEnvironment environment(calculator(), {}, 2);
  const auto answer = [&](const ToolCall& call) {
    Reply reply;
    environment.answer(call, 0, reply);
    EXPECT_EQ(reply.num_calls, 1);
    EXPECT_EQ(reply.messages.at(0).at("role"), "tool");
    return (reply.num_failed_calls > 0 ? "! " : "") + reply.messages[0].at("content").get<std::string>();
  };
  EXPECT_EQ(answer(call_of("calculator", R"({"expression": "(12 + 7) * 3"})")), "57");
  EXPECT_EQ(answer(call_of("calculator", R"({"expression": "7 / 3 - 5"})")), "-8/3");
  EXPECT_EQ(answer(call_of("calculator", R"({"expression": "0 - 0"})")), "0");
  EXPECT_EQ(answer(call_of("calculator", R"({"expression": "1 / 0"})")).substr(0, 12), "! {\"error\":\"");
  EXPECT_EQ(answer(call_of("calculater", "{}")),
            "! {\"error\":\"Tool calculater not found; did you mean calculator?\"}");
  EXPECT_TRUE(answer(call_of("calculator", "{}")).starts_with("! {\"error\":\"wrong arguments: "));
  EXPECT_TRUE(
      answer(call_of("calculator", R"({"expression": 5})")).starts_with("! {\"error\":\"wrong arguments: "));
  EXPECT_EQ(answer({.name = "", .error = "malformed"}), "! {\"error\":\"malformed\"}");
}

TEST(ToolEnvironment, RepliesToTurnsWithCalls) {
  ToolEnvironment environment(calculator(), {}, 2);
  const std::unique_ptr<Episode> episode = std::move(environment.begin({{}}).front().episode);
  AssistantMessage turn{
      .content = "",
      .tool_calls = {call_of("calculator", R"({"expression": "2 + 2"})"), call_of("nothing", "{}")}};
  turn.tool_calls[0].id = "c1";
  const Reply reply = reply_to(*episode, turn);
  EXPECT_EQ(reply.num_calls, 2);
  EXPECT_EQ(reply.num_failed_calls, 1);
  ASSERT_EQ(reply.times.size(), 1u);  // the other call reached no tool
  EXPECT_EQ(reply.times[0].tool, "calculator");
  EXPECT_GT(reply.times[0].seconds, 0.0);
  ASSERT_EQ(reply.messages.size(), 2u);
  EXPECT_EQ(reply.messages[0].at("tool_call_id"), "c1");
  EXPECT_TRUE(reply_to(*episode, {.content = "4"}).messages.empty());
  const Reply last = reply_to(*episode, turn, /*is_last=*/true);
  EXPECT_TRUE(last.messages.empty());
  EXPECT_EQ(last.num_calls, 0);
}

TEST(ToolEnvironment, RefusesToolsOfOneName) {
  std::vector<std::unique_ptr<Tool>> tools = calculator();
  tools.push_back(make_calculator());
  EXPECT_THROW(ToolEnvironment(std::move(tools), {}, 1), ConfigError);
  EXPECT_THROW(ToolEnvironment({}, {}, 1), ConfigError);
}

TEST(GuessNumber, NarrowsTheNumberDown) {
  const auto game = make_guess_number(0.25);
  Prompt prompt{.id = "p", .token_ids = {1}, .text = ""};
  prompt.fields = {{"low", 5}, {"high", 5}};
  const auto episode = std::move(game->begin({{&prompt, 0, 9}}).front().episode);
  const auto text_of = [&](const std::string& guess) {
    return reply_to(*episode, {.content = guess}).messages[0].at("content").get<std::string>();
  };
  double score = -1.0;
  const auto judgement = [&](RewardResult result) { score = result.score; };
  EXPECT_EQ(text_of("I say 4"), "higher");
  EXPECT_EQ(text_of("4 or 77?"), "lower");
  EXPECT_EQ(text_of("-5"), "higher");
  EXPECT_EQ(text_of("hm"), "no number");
  episode->judge([] {}, judgement);
  EXPECT_EQ(score, 0.0);
  const Reply last = reply_to(*episode, {.content = "5"});
  EXPECT_TRUE(last.is_last);
  episode->judge([] {}, judgement);
  EXPECT_EQ(score, 0.0);  // four wrong turns at 0.25
}

TEST(GuessNumber, TheSamplesOfAPromptHaveOneNumber) {
  const auto game = make_guess_number(0.0);
  Prompt prompt{.id = "p", .token_ids = {1}, .text = ""};
  const auto openings = game->begin({{&prompt, 0, 9}, {&prompt, 1, 9}, {&prompt, 0, 10}});
  const auto number_of = [&](Episode& episode) {
    int64_t low = 1, high = 100;
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      const std::string text =
          reply_to(episode, {.content = std::to_string(middle)}).messages[0].at("content");
      if (text == "correct") return middle;
      (text == "higher" ? low : high) = text == "higher" ? middle + 1 : middle - 1;
    }
    return low;
  };
  EXPECT_EQ(number_of(*openings[0].episode), number_of(*openings[1].episode));
  EXPECT_NE(number_of(*openings[0].episode), number_of(*openings[2].episode));
}

TEST(GuessNumber, HidesTheNumberOfAnAttack) {
  const auto game = make_guess_number(0.25);
  const auto play = [&](const Json& attack) {
    Prompt prompt{.id = "p", .token_ids = {1}, .text = ""};
    prompt.fields = {{"low", 1}, {"high", 32}, {"attack", attack}};
    const auto episode = std::move(game->begin({{&prompt, 0, 9}}).front().episode);
    const Reply reply = reply_to(*episode, {.content = "20"});
    double score = -1.0;
    episode->judge([] {}, [&](RewardResult result) { score = result.score; });
    return std::pair(reply.messages[0].at("content").get<std::string>(), score);
  };
  EXPECT_EQ(play("I hide 7"), std::pair(std::string("lower"), 0.0));
  EXPECT_EQ(play("32"), std::pair(std::string("higher"), 0.0));
  EXPECT_EQ(play("20"), std::pair(std::string("correct"), 1.0));
  for (const char* foul : {"33", "0", "-7", "no number", ""})
    EXPECT_EQ(play(foul), std::pair(std::string("correct"), 1.0)) << foul;
}

}  // namespace
}  // namespace cohort
