// RULER: what counts as a ranking, what the judge sees of a group, and how a group's scores reach it.
#include <gtest/gtest.h>

#include "cohort/rewards/judge/ruler_prompt.h"
#include "cohort/rewards/reward_scorer.h"
#include "tests/core/test_files.h"
#include "tests/rewards/python_server.h"
#include "tests/rewards/test_rows.h"

namespace cohort {
namespace {

std::string read(const std::string& scores, int64_t num_trajectories = 2) {
  const JudgeVote vote = read_group_vote(str("{\"scores\": ", scores, "}"), num_trajectories);
  EXPECT_NE(vote.scores.empty(), vote.failure.empty());
  std::string text = vote.failure;
  for (size_t i = 0; i < vote.scores.size(); ++i)
    text += str(i == 0 ? "" : " ", vote.scores[i], vote.explanations[i]);
  return text;
}

TEST(GroupVote, EachTrajectoryOnceInAnyOrder) {
  EXPECT_EQ(read(R"([{"trajectory_id": "2", "explanation": "b", "score": 0.25},
                     {"trajectory_id": 1, "explanation": "a", "score": 1}])"),
            "1a 0.25b");
  EXPECT_EQ(read(R"([{"trajectory_id": "1", "score": 0}])", 1), "0");
}

TEST(GroupVote, WhatMissesOneIsNone) {
  EXPECT_EQ(read(R"([{"trajectory_id": "2", "score": 0.5}])"), "the judge gave no score for trajectory 1");
  EXPECT_EQ(read(R"([{"trajectory_id": "1", "score": 0.5}, {"trajectory_id": "1", "score": 0.5}])"),
            "the judge scored trajectory 1 twice");
  for (const char* entry : {R"({"trajectory_id": "3", "score": 0.5})", R"({"score": 0.5})", "0.5", "[]"})
    EXPECT_TRUE(read(str("[", entry, "]")).starts_with("the judge scored none of the trajectories")) << entry;
  for (const char* score : {"1.01", "-0.1", "\"1\"", "null"}) {
    EXPECT_EQ(read(str(R"([{"trajectory_id": "1", "score": )", score, "}]")),
              "the judge's score for trajectory 1 is no number from 0 to 1");
  }
  EXPECT_EQ(read("0.5"), "the judge gave no list \"scores\"");
}

TEST(GroupVote, AQuotedRankingMakesItFail) {
  const std::string one = R"({"scores": [{"trajectory_id": "1", "score": 1}]})";
  const std::string other = R"({"scores": [{"trajectory_id": "1", "score": 0.5}]})";
  EXPECT_EQ(read_group_vote(one + other, 1).failure, "the judge's message holds two answers that differ");
  EXPECT_EQ(read_group_vote(one + one, 1).scores, std::vector<double>{1.0});
}

std::string user_text(const std::vector<Completion>& completions, const Prompt& prompt) {
  std::vector<RewardRow> rows;
  for (const Completion& completion : completions) rows.push_back({prompt, completion});
  return RulerPrompt("", "").question(rows).asked.messages[1]["content"];
}

/// `text` with its mark, 16 digits, written as M.
std::string plain(std::string text) {
  const std::string mark = text.substr(text.find('\n') - 16, 16);
  for (size_t at; (at = text.find(mark)) != std::string::npos;) text.replace(at, mark.size(), "M");
  return text;
}

TEST(RulerPrompt, TheSharedMessagesStandThereOnce) {
  EXPECT_EQ(plain(user_text({make_completion("a"), make_completion("b")}, make_prompt({}))),
            "<<<context M\n{\"role\":\"user\",\"content\":\"the prompt\"}\n<<<end of context M\n"
            "<<<trajectory 1 M\n{\"role\":\"assistant\",\"content\":\"a\"}\n<<<end of trajectory 1 M\n"
            "<<<trajectory 2 M\n{\"role\":\"assistant\",\"content\":\"b\"}\n<<<end of trajectory 2 M\n");
}

TEST(RulerPrompt, EpisodesAreShownWithAllMessages) {
  const Prompt prompt = make_prompt(
      {{"prompt_messages", {{{"role", "system"}, {"content", "S"}}, {{"role", "user"}, {"content", "U"}}}}});
  std::vector<Completion> completions{make_completion("last turn"), make_completion("last turn")};
  for (Completion& completion : completions) {
    completion.episode.emplace();
    completion.episode->messages = {{{"role", "assistant"}, {"content", "call"}},
                                    {{"role", "tool"}, {"content", "5"}}};
  }
  completions[1].episode->messages.push_back({{"role", "assistant"}, {"content", "five"}});
  EXPECT_EQ(plain(user_text(completions, prompt)),
            "<<<context M\n{\"role\":\"system\",\"content\":\"S\"}\n{\"role\":\"user\",\"content\":\"U\"}\n"
            "{\"role\":\"assistant\",\"content\":\"call\"}\n{\"role\":\"tool\",\"content\":\"5\"}\n<<<end of "
            "context M\n<<<trajectory 1 M\n\n<<<end of trajectory 1 M\n"
            "<<<trajectory 2 M\n{\"role\":\"assistant\",\"content\":\"five\"}\n<<<end of trajectory 2 M\n");
}

TEST(RulerPrompt, ColumnsOfTheRubric) {
  const RulerPrompt prompt("Near to {answer} is good.", "");
  const Prompt row = make_prompt({{"answer", "42"}}), other = make_prompt({});
  const Completion completion = make_completion("a");
  const RewardRow rows[] = {{row, completion}}, others[] = {{other, completion}};
  EXPECT_EQ(prompt.refusal(rows), std::nullopt);
  EXPECT_EQ(prompt.refusal(others), "the row has no column \"answer\" of the rubric");
  const std::string system = prompt.question(rows).asked.messages[0]["content"];
  EXPECT_NE(system.find("\n42\n<<<end of answer "), std::string::npos) << system;
  EXPECT_NE(message_of<ConfigError>([] { RulerPrompt("{completion}", "reward r: "); }).find("{completion}"),
            std::string::npos);
}

class RulerRewardTest : public testing::Test {
 protected:
  /// The cells of groups of completions, each as "score status".
  std::vector<std::vector<std::string>> rank(const std::vector<std::vector<std::string>>& groups) {
    RewardScorer scorer(
        {{.name = "ruler", .keys = {{"url", server_.url("/v1")}, {"model", "ruler"}, {"retries", 0}}}});
    for (size_t g = 0; g < groups.size(); ++g) {
      for (size_t i = groups[g].size(); i-- > 0;)
        scorer.submit(static_cast<int64_t>(g), static_cast<int64_t>(i), make_prompt({}),
                      make_completion(groups[g][i]));
    }
    scorer.close(0, std::ssize(groups));
    std::vector<std::vector<std::string>> cells;
    for (size_t g = 0; g < groups.size(); ++g) {
      std::vector<std::string>& group = cells.emplace_back();
      for (const auto& sample : scorer.take(static_cast<int64_t>(g)))
        group.push_back(brief(sample[0]) + ", " + sample[0].detail);
    }
    return cells;
  }

  PythonServer server_{"fake_openai.py"};
};

TEST_F(RulerRewardTest, AGroupIsOneQuestion) {
  const auto cells = rank({{"score: 0.25", "score: 1", "b score: 0.25"}, {"score: 0.75"}});
  EXPECT_EQ(cells[0], (std::vector<std::string>{"0.25 ok, told 0.25", "1 ok, told 1", "0.25 ok, told 0.25"}));
  EXPECT_EQ(cells[1], std::vector<std::string>{"0.75 ok, told 0.75"});
  EXPECT_EQ(server_.requests().size(), 2u);
}

TEST_F(RulerRewardTest, EqualCompletionsAreShownOnce) {
  const auto cells = rank({{"score: 0.5", "score: 0", "score: 0.5"}});
  EXPECT_EQ(cells[0], (std::vector<std::string>{"0.5 ok, told 0.5", "0 ok, told 0", "0.5 ok, told 0.5"}));
  const std::string asked = server_.requests().at(0)["request"]["messages"][1]["content"];
  EXPECT_NE(asked.find("<<<trajectory 2 "), std::string::npos);
  EXPECT_EQ(asked.find("<<<trajectory 3 "), std::string::npos);
}

TEST_F(RulerRewardTest, AReplyThatMissesATrajectoryFailsItsGroup) {
  const auto cells = rank({{"score: 1", "score: none"}, {"score: 1", "score: 0"}});
  const std::string failure = "0 error, rows.jsonl:5: the judge gave no score for trajectory 2";
  EXPECT_EQ(cells[0], (std::vector<std::string>{failure, failure}));
  EXPECT_EQ(cells[1], (std::vector<std::string>{"1 ok, told 1", "0 ok, told 0"}));
}

TEST_F(RulerRewardTest, TakeClosesItsGroup) {
  RewardScorer scorer(
      {{.name = "ruler", .keys = {{"url", server_.url("/v1")}, {"model", "ruler"}}}, {.name = "format"}});
  for (int64_t i = 0; i < 2; ++i) scorer.submit(7, i, make_prompt({}), make_completion(str("score: ", i)));
  const auto cells = scorer.take(7);
  EXPECT_EQ(brief(cells[0][0]), "0 ok");
  EXPECT_EQ(brief(cells[1][0]), "1 ok");
}

TEST_F(RulerRewardTest, NeedsAServerAndAModel) {
  EXPECT_NE(message_of<ConfigError>([] { make_reward({.name = "ruler"}); }).find("needs `url`"),
            std::string::npos);
}

}  // namespace
}  // namespace cohort
