// Python tools and environments in processes of their own, and everything that they can do wrong.
#include <gtest/gtest.h>

#include "cohort/core/error.h"
#include "cohort/env/environment_config.h"
#include "tests/core/test_files.h"
#include "tests/env/replies.h"

namespace cohort {
namespace {

constexpr const char* kSource = R"(
import os
import sys
import time


def add(a: int, b: int = 2) -> int:
    """
    Adds two integers.

    Args:
        a: The first integer.
        b: The second integer.
    """
    print("tools may print")
    return a + b


async def slow(seconds: float) -> str:
    """
    Waits.

    Args:
        seconds: How long.
    """
    import asyncio

    await asyncio.sleep(seconds)
    return "done"


class Counter:
    def reset(self, start: int = 0, **row):
        if start < 0:
            raise ValueError("a negative start")
        if start > 1000:
            return 7
        self.value = start
        return f" It shows {start}."

    def increment(self, by: int) -> str:
        """
        Adds to the counter.

        Args:
            by: How much.
        """
        if by == 0:
            raise ValueError("nothing to add")
        if by == 13:
            time.sleep(60)
        if by == 14:
            os._exit(3)
        if by == 15:
            os.write(1, b"noise\n")
        if by == 16:
            return "x" * 20_000_000
        if by == 17:
            return b"bytes"
        if by == 18:
            if os.fork() == 0:
                time.sleep(60)
        if by == 19:
            os.closerange(0, 100)
        if by == 20:
            sys.exit(1)
        self.value += by
        return str(self.value)

    def get_reward(self) -> float:
        return self.value / 10 if self.value != 99 else float("nan")


class Climber:
    turn_rewards = True

    def reset(self, start: int = 0, **row):
        self.height = start

    def increment(self, by: int) -> str:
        """
        Climbs.

        Args:
            by: How much.
        """
        self.height += by
        if by == 13:
            raise ValueError("it slips")
        return "higher"

    def get_reward(self):
        return self.height / 10 if self.height < 90 else None

    @property
    def state(self):
        return {"z": self.height, "a": [1, None]} if self.height < 50 else {1, 2}


class Rewardless:
    turn_rewards = True

    def reset(self, **row):
        pass


class NoReset:
    pass
)";

class PythonEnvironmentTest : public testing::Test {
 protected:
  PythonEnvironmentTest() { write_text(directory_.path() / "env.py", kSource); }

  std::string place(const std::string& name) const {
    return (directory_.path() / "env.py").string() + ":" + name;
  }

  std::unique_ptr<Environment> counter(int64_t workers = 1, double timeout_s = 20.0,
                                       const char* name = "Counter") const {
    EnvironmentConfig config;
    config.python = place(name);
    config.workers = workers;
    config.timeout_s = timeout_s;
    return make_environment(config, {});
  }

  static Opening begin(Environment& environment, int64_t start) {
    Prompt prompt{.id = "p", .token_ids = {1}, .text = "Count."};
    prompt.fields = {{"start", start}};
    return std::move(environment.begin({{&prompt, 0, 1}}).front());
  }

  static Reply increment(Episode& episode, int64_t by) {
    return reply_to(episode,
                    {.content = "", .tool_calls = {{.name = "increment", .arguments = {{"by", by}}}}});
  }

  static std::string content(const Reply& reply) {
    return reply.messages.at(0).at("content").get<std::string>();
  }

  TemporaryDirectory directory_;
};

TEST_F(PythonEnvironmentTest, MethodsAreToolsAndTheRewardIsItsOwn) {
  const auto environment = counter();
  EXPECT_TRUE(environment->gives_rewards());
  ASSERT_EQ(environment->tools().size(), 1u);
  EXPECT_EQ(environment->tools()[0].at("function").at("name"), "increment");
  const Opening one = begin(*environment, 3), two = begin(*environment, 8);
  EXPECT_EQ(one.observation, " It shows 3.");
  EXPECT_EQ(content(increment(*one.episode, 4)), "7");
  EXPECT_EQ(content(increment(*two.episode, 1)), "9");
  EXPECT_EQ(content(increment(*one.episode, 1)), "8");
  EXPECT_EQ(judgement_of(*one.episode).score, 0.8);
  EXPECT_EQ(judgement_of(*two.episode).score, 0.9);
}

TEST_F(PythonEnvironmentTest, WhatTheRewardGrowsByIsTheTurns) {
  const auto environment = counter(1, 20.0, "Climber");
  EXPECT_TRUE(environment->gives_rewards() && environment->gives_turn_rewards());
  EXPECT_EQ(environment->tools().size(), 1u);
  const Opening one = begin(*environment, 2);
  EXPECT_NEAR(increment(*one.episode, 4).reward, 0.4, 1e-15);
  EXPECT_EQ(increment(*one.episode, 0).reward, 0.0);
  const Reply slip = increment(*one.episode, 13);  // the state has changed before it raised
  EXPECT_EQ(slip.num_failed_calls, 1);
  EXPECT_NEAR(slip.reward, 1.3, 1e-15);
  // A turn of two calls; the judgement has what was there before the first turn.
  const ToolCall by_one{.name = "increment", .arguments = {{"by", 1}}};
  EXPECT_NEAR(reply_to(*one.episode, {.content = "", .tool_calls = {by_one, by_one}}).reward, 0.2, 1e-15);
  EXPECT_NEAR(judgement_of(*one.episode).score, 0.2, 1e-15);
  const Opening none = begin(*environment, 89);
  EXPECT_TRUE(none.failure.find("the property `state` is a set") != std::string::npos) << none.failure;
  EXPECT_FALSE(counter()->gives_turn_rewards());
  EnvironmentConfig config;
  config.python = place("Rewardless");
  EXPECT_TRUE(message_of<ConfigError>([&] { make_environment(config, {}); }).find("get_reward()") !=
              std::string::npos);
}

TEST_F(PythonEnvironmentTest, EqualStatesHaveOneNumber) {
  const auto environment = counter(2, 20.0, "Climber");
  EXPECT_TRUE(environment->gives_states());
  EXPECT_FALSE(counter()->gives_states());
  const Opening one = begin(*environment, 2), two = begin(*environment, 3);
  ASSERT_TRUE(one.state && two.state);
  EXPECT_EQ(*one.state, state_number(R"({"a": [1, null], "z": 2})"));
  EXPECT_NE(*one.state, *two.state);
  EXPECT_EQ(increment(*one.episode, 1).state, two.state);
  EXPECT_EQ(increment(*two.episode, 0).state, two.state);
  EXPECT_TRUE(increment(*two.episode, 60).failure.find("is a set") != std::string::npos);
}

TEST_F(PythonEnvironmentTest, FunctionsAreTools) {
  const auto environment = make_environment(
      {}, {{"python", place("add"), {}}, {"python", place("slow"), {}}, {"calculator", "", {}}});
  EXPECT_EQ(environment->tools().size(), 3u);
  EXPECT_FALSE(environment->gives_rewards());
  const auto episode = std::move(environment->begin({{}}).front().episode);
}

TEST_F(PythonEnvironmentTest, AnExceptionOfAToolIsATextForThePolicy) {
  const auto environment = counter();
  const Opening opening = begin(*environment, 3);
  const Reply reply = increment(*opening.episode, 0);
  EXPECT_EQ(reply.num_failed_calls, 1);
  EXPECT_EQ(content(reply), R"({"error":"nothing to add"})");
  EXPECT_EQ(content(increment(*opening.episode, 1)), "4");  // and the episode goes on
  EXPECT_EQ(content(increment(*opening.episode, 17)), "b'bytes'");
}

TEST_F(PythonEnvironmentTest, WhatCannotBeginSaysWhy) {
  const auto environment = counter();
  EXPECT_TRUE(begin(*environment, -1).failure.ends_with("ValueError: a negative start"));
  EXPECT_TRUE(begin(*environment, 2000).failure.find("must return a text or None") != std::string::npos);
  EXPECT_EQ(begin(*environment, 1).failure, "");
}

TEST_F(PythonEnvironmentTest, ARewardThatIsNoNumberFails) {
  const auto environment = counter();
  const RewardResult result = judgement_of(*begin(*environment, 99).episode);
  EXPECT_EQ(result.status, RewardStatus::kError);
  EXPECT_TRUE(result.detail.find("no finite number") != std::string::npos) << result.detail;
}

TEST_F(PythonEnvironmentTest, ABrokenProcessFailsItsEpisodesAndOthersBegin) {
  // It hangs, dies, writes to the pipe, floods it, closes it, ends.
  for (const int64_t by : {13, 14, 15, 16, 19, 20}) {
    SCOPED_TRACE(by);
    const auto environment = counter(1, 3.0);
    const Opening broken = begin(*environment, 3), beside = begin(*environment, 4);
    const Reply reply = increment(*broken.episode, by);
    if (by == 15) {  // what it prints goes to standard error
      EXPECT_EQ(content(reply), "18");
      continue;
    }
    EXPECT_NE(reply.failure, "");
    // sys.exit() is an exception, after which the process goes on.
    EXPECT_EQ(increment(*beside.episode, 1).failure.empty(), by == 20);
    const Opening next = begin(*environment, 5);
    EXPECT_EQ(content(increment(*next.episode, 1)), "6");
  }
}

TEST_F(PythonEnvironmentTest, ChildrenOfAToolEndWithTheEnvironment) {
  auto environment = counter();
  const Opening opening = begin(*environment, 3);
  EXPECT_EQ(content(increment(*opening.episode, 18)), "21");
}

TEST_F(PythonEnvironmentTest, WhatCannotBeLoadedIsRefusedBeforeTheRun) {
  const auto message = [&](const std::string& python) {
    EnvironmentConfig config;
    config.python = python;
    return message_of<ConfigError>([&] { make_environment(config, {}); });
  };
  EXPECT_TRUE(message("env.py").find("FILE.py:NAME") != std::string::npos);
  EXPECT_TRUE(message("nowhere.py:Factory").find("there is no file") != std::string::npos);
  EXPECT_TRUE(message(place("Counterr")).find("did you mean 'Counter'?") != std::string::npos);
  EXPECT_TRUE(message(place("NoReset")).find("needs a method reset") != std::string::npos);
  const std::string no_docstring =
      message_of<ConfigError>([&] { make_environment({}, {{"python", place("NoReset"), {}}}); });
  EXPECT_TRUE(no_docstring.find("docstring") != std::string::npos) << no_docstring;
}

TEST_F(PythonEnvironmentTest, AProgramInAnyLanguageHasTools) {
  // One that knows a line for each request, and sees no episodes.
  const std::string program =
      R"(while read -r line; do case "$line" in )"
      R"(*describe*) echo '{"id": 1, "tools": [{"type": "function", "function": {"name": "now", "parameters": {}}}]}';; )"
      R"(*) id=$(echo "$line" | sed 's/.*"id":\([0-9]*\).*/\1/'); echo "{\"id\": $id, \"content\": \"noon\"}";; esac; done)";
  const auto environment = make_environment({}, {{"command", "", {"/bin/sh", "-c", program}}});
  EXPECT_EQ(environment->tools()[0].at("function").at("name"), "now");
  const Opening opening = begin(*environment, 0);
  EXPECT_EQ(content(reply_to(*opening.episode, {.content = "", .tool_calls = {{.name = "now"}}})), "noon");
  EXPECT_THROW(make_environment({}, {{"command", "", {"/bin/echo", "{}"}}}), ConfigError);
  EXPECT_THROW(make_environment({}, {{"command", "", {"/nowhere/at/all"}}}), ConfigError);
}

TEST_F(PythonEnvironmentTest, SettingsWithoutEffectAreRefused) {
  EnvironmentConfig config;
  EXPECT_EQ(make_environment(config, {}), nullptr);
  config.max_turns = 3;
  EXPECT_THROW(make_environment(config, {}), ConfigError);
  config = {};
  config.name = "guess_number";
  EXPECT_THROW(make_environment(config, {{"calculator", "", {}}}), ConfigError);
  config = {};
  config.wrong_turn_cost = 0.5;
  EXPECT_THROW(make_environment(config, {{"calculator", "", {}}}), ConfigError);
  EXPECT_THROW(make_environment({}, {{"calculator", "x.py:f", {}}}), ConfigError);
  EXPECT_THROW(make_environment({}, {{"python", "", {}}}), ConfigError);
  EXPECT_THROW(make_environment({}, {{"command", "", {}}}), ConfigError);
  EXPECT_THROW(make_environment({}, {{"calculator", "", {"x"}}}), ConfigError);
  EXPECT_THROW(make_environment({}, {{"", "", {}}}), ConfigError);
}

}  // namespace
}  // namespace cohort
