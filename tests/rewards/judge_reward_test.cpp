// The judge against a server that answers as the judged text asks for (fake_openai.py), and on a virtual
// clock.
#include "cohort/rewards/judge_reward.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "cohort/rewards/reward_scorer.h"
#include "tests/rewards/fake_transport.h"
#include "tests/rewards/python_server.h"
#include "tests/rewards/test_rows.h"

namespace cohort {
namespace {

constexpr const char* kSecret = "sk-very-secret-0123456789";

class JudgeRewardTest : public testing::Test {
 protected:
  RewardConfig config() const {
    return {.name = "mine",
            .type = "judge",
            .keys = {{"timeout_s", 60.0}, {"url", server_.url("/v1")}, {"retries", 0}, {"model", "good"}}};
  }

  RewardResult judge(const RewardConfig& config, const std::string& completion) {
    return JudgeReward(config).score(make_prompt({}), make_completion(completion));
  }

  PythonServer server_{"fake_openai.py"};
};

TEST_F(JudgeRewardTest, AsksForScoresByASchema) {
  RewardConfig two = config();
  two.keys["criteria"] = std::vector<std::string>{"correct", "clear"};
  two.keys["max_score"] = 5;
  two.keys["temperature"] = 0.25;
  const RewardResult result = judge(two, "votes: 4");
  EXPECT_EQ(brief(result), "0.8 ok");
  EXPECT_EQ(result.detail, R"({"scores":{"correct":[4.0],"clear":[4.0]}})");
  ASSERT_EQ(server_.requests().size(), 1u);
  const Json sent = server_.requests()[0];
  EXPECT_EQ(sent["path"], "/v1/chat/completions");
  EXPECT_TRUE(sent["authorization"].is_null());
  EXPECT_EQ(sent["request"]["model"], "good");
  EXPECT_EQ(sent["request"]["temperature"], 0.25);
  EXPECT_EQ(sent["request"]["response_format"]["json_schema"]["schema"]["required"],
            Json::array({"reason", "correct", "clear"}));
}

TEST_F(JudgeRewardTest, CriteriaCountAlike) {
  RewardConfig two = config();
  two.keys["criteria"] = std::vector<std::string>{"correct", "clear"};
  EXPECT_EQ(brief(judge(two, "votes: text: {\"clear\": 10, \"correct\": 3}")), "0.65 ok");
}

TEST_F(JudgeRewardTest, ServersThatKnowNoSchemaAreAskedOtherwise) {
  RewardConfig other = config();
  for (const auto& [model, formats] : std::map<std::string, std::vector<Json>>{
           {"no-schema", {"json_schema", "json_object", "json_object"}},
           {"plain", {"json_schema", "json_object", nullptr, nullptr}}}) {
    other.keys["model"] = model;
    JudgeReward reward(other);
    const size_t before = server_.requests().size();
    for (const char* completion : {"votes: 2", "votes: 3"})
      EXPECT_EQ(reward.score(make_prompt({}), make_completion(completion)).status, RewardStatus::kOk);
    std::vector<Json> asked;
    const std::vector<Json> requests = server_.requests();
    for (size_t i = before; i < requests.size(); ++i) {
      const Json& request = requests[i]["request"];
      asked.push_back(request.contains("response_format") ? request["response_format"]["type"] : Json());
    }
    EXPECT_EQ(asked, formats) << model;
  }
}

TEST_F(JudgeRewardTest, TheMeanOfTheValidVotes) {
  RewardConfig many = config();
  many.keys["votes"] = 4;
  const RewardResult result = judge(many, "votes: 2 | text: I refuse. | 9 | 4");
  EXPECT_EQ(brief(result), "0.5 ok");
  EXPECT_EQ(
      result.detail,
      R"({"scores":{"quality":[2.0,9.0,4.0]},"failed_votes":["the judge's message does not end with a JSON )"
      R"(object: \"I refuse.\""]})");
  EXPECT_EQ(server_.requests().size(), 4u);
  std::set<Json> keys;
  for (const Json& request : server_.requests()) keys.insert(request["key"]);
  EXPECT_EQ(keys.size(), 4u);
}

TEST_F(JudgeRewardTest, FewerThanHalfOfTheVotesAreNoScore) {
  RewardConfig many = config();
  many.keys["votes"] = 5;
  const RewardResult result = judge(many, "votes: 10 | status: 400 | text: {\"quality\": 11} | status: 500");
  EXPECT_EQ(brief(result), "0 error");
  EXPECT_EQ(result.detail,
            "rows.jsonl:5: 1 of 5 votes: HTTP 400: \"{\\\"error\\\": {\\\"message\\\": \\\"as asked\\\"}}\"");
  EXPECT_EQ(server_.requests().size(), 4u);  // the fifth could not save it
  many.keys["votes"] = 2;
  EXPECT_EQ(brief(judge(many, "votes: 10 | status: 400 ")), "1 ok");
}

TEST_F(JudgeRewardTest, OutagesAreNeverAZero) {
  for (const char* vote : {"status: 500", "status: 503", "status: 429", "status: 401", "text: ", "text: 10",
                           "text: {\"quality\": \"10\"}", "text: {\"quality\": 3} {\"quality\": 10}"}) {
    const RewardResult result = judge(config(), str("votes: ", vote));
    EXPECT_EQ(result.status, RewardStatus::kError) << vote;
    EXPECT_TRUE(result.detail.starts_with("rows.jsonl:5: 0 of 1 votes: ")) << result.detail;
  }
  RewardConfig lost = config();
  {
    const PythonServer gone("fake_openai.py");
    lost.keys["url"] = gone.url("/v1");
  }
  EXPECT_EQ(brief(judge(lost, "votes: 10")), "0 error");
}

TEST_F(JudgeRewardTest, RetriesAreMadeAndCounted) {
  RewardConfig again = config();
  again.keys["retries"] = 2;
  EXPECT_EQ(brief(judge(again, "votes: status: 500 | status: 429 | 6")), "0.6 ok");
  const std::vector<Json> requests = server_.requests();
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_EQ(requests[0]["key"], requests[2]["key"]);
}

TEST_F(JudgeRewardTest, WhatWasAskedIsNotAskedAgain) {
  const TemporaryDirectory folder;
  RewardConfig cached = config();
  cached.keys["votes"] = 2;
  cached.keys["cache_dir"] = (folder.path() / "cache").string();
  EXPECT_EQ(brief(judge(cached, "votes: 2 | 4")), "0.3 ok");
  EXPECT_EQ(server_.requests().size(), 2u);
  EXPECT_EQ(brief(judge(cached, "votes: 2 | 4")), "0.3 ok");
  EXPECT_EQ(server_.requests().size(), 2u);
  cached.keys["votes"] = 3;  // two are known
  EXPECT_EQ(judge(cached, "votes: 2 | 4").detail, R"({"scores":{"quality":[2.0,4.0,2.0]}})");
  EXPECT_EQ(server_.requests().size(), 3u);
  cached.keys["temperature"] = 0.5;
  EXPECT_EQ(judge(cached, "votes: 2 | 4").status, RewardStatus::kOk);
  EXPECT_EQ(server_.requests().size(), 6u);
}

TEST_F(JudgeRewardTest, OnlyAnswersAreCached) {
  const TemporaryDirectory folder;
  RewardConfig cached = config();
  cached.keys["cache_dir"] = (folder.path() / "cache").string();
  EXPECT_EQ(brief(judge(cached, "votes: text: no | status: 500 | 8")), "0 error");
  EXPECT_EQ(brief(judge(cached, "votes: text: no | status: 500 | 8")), "0 error");
  EXPECT_EQ(brief(judge(cached, "votes: text: no | status: 500 | 8")), "0.8 ok");
  EXPECT_EQ(brief(judge(cached, "votes: text: no | status: 500 | 8")), "0.8 ok");
  EXPECT_EQ(server_.requests().size(), 3u);
  // An entry that cannot be used is asked for again.
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path())) {
    if (!entry.is_regular_file()) continue;
    Json stored = Json::parse(read_text(entry.path()));
    stored["answer"] = "no scores";
    write_text(entry.path(), stored.dump());
  }
  EXPECT_EQ(brief(judge(cached, "votes: text: no | status: 500 | 8")), "0 error");
}

TEST_F(JudgeRewardTest, ManyRowsAtATimeKeepTheirScores) {
  RewardConfig many = config();
  many.keys["workers"] = 6;
  const RewardMaker maker = reward_maker<JudgeKeys>(
      [](const RewardConfig& config, const JudgeKeys&) { return std::make_unique<JudgeReward>(config); });
  const RewardTypes types{{"judge", "", maker}};
  RewardScorer scorer({many}, types);
  for (int64_t row = 0; row < 60; ++row)
    scorer.submit(0, row, make_prompt({}), make_completion(str("row ", row, " votes: ", row % 11)));
  const auto rewards = scorer.take(0);
  for (int64_t row = 0; row < 60; ++row)
    EXPECT_DOUBLE_EQ(rewards[row][0].score, static_cast<double>(row % 11) / 10.0) << rewards[row][0].detail;
}

TEST_F(JudgeRewardTest, TheKeyIsSentAndKeptNowhere) {
  const TemporaryDirectory folder;
  ASSERT_EQ(setenv("COHORT_TEST_KEY", kSecret, 1), 0);
  RewardConfig keyed = config();
  keyed.keys["api_key_env"] = "COHORT_TEST_KEY";
  keyed.keys["cache_dir"] = (folder.path() / "cache").string();
  keyed.keys["votes"] = 2;
  testing::internal::CaptureStderr();
  const std::string echo =
      str("votes: text: {\"reason\": \"", kSecret, "\", \"quality\": 4} | text: ", kSecret);
  const RewardResult result = judge(keyed, echo);
  const std::string log = testing::internal::GetCapturedStderr();
  unsetenv("COHORT_TEST_KEY");
  EXPECT_EQ(brief(result), "0.4 ok");
  EXPECT_EQ(result.detail.find("sk-very"), std::string::npos) << result.detail;
  EXPECT_EQ(log.find("sk-very"), std::string::npos) << log;
  EXPECT_EQ(server_.requests()[0]["authorization"], std::string("Bearer ") + kSecret);
  int num_files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path())) {
    if (!entry.is_regular_file()) continue;
    ++num_files;
    EXPECT_EQ(Json::parse(read_text(entry.path()))["answer"].get<std::string>().find("sk-very"),
              std::string::npos);
  }
  EXPECT_EQ(num_files, 1);
}

TEST_F(JudgeRewardTest, RowsThatLackAColumnAreUnparsed) {
  RewardConfig column = config();
  column.keys["rubric"] = "{completion} {answer}";
  const RewardResult result = judge(column, "votes: 1");
  EXPECT_EQ(brief(result), "0 unparsed");
  EXPECT_EQ(result.detail, "rows.jsonl:5: the row has no column \"answer\" of the rubric");
  EXPECT_EQ(brief(judge(config(), std::string((1 << 20) + 1, 'x'))), "0 unparsed");
  EXPECT_TRUE(server_.requests().empty());
}

/// A judge that says 7 and how many tokens that took.
HttpReply chat_reply(int64_t num_tokens) {
  const Json message = {{"role", "assistant"}, {"content", R"({"quality": 7})"}};
  const Json choices = Json::array({{{"message", message}, {"finish_reason", "stop"}}});
  return reply_of(200, to_json_text({{"choices", choices}, {"usage", {{"total_tokens", num_tokens}}}}));
}

std::vector<double> times_of(const FakeNetwork& network) {
  std::vector<double> times;
  for (const FakeNetwork::Sent& sent : network.sent) times.push_back(sent.time);
  return times;
}

TEST(JudgeLimits, RequestsPerMinute) {
  FakeNetwork network;
  network.answer = [](const HttpRequest&) { return chat_reply(10); };
  JudgeReward judge(
      {.name = "j",
       .keys = {{"url", "http://h/v1"}, {"model", "m"}, {"votes", 2}, {"requests_per_minute", 3}}},
      std::make_unique<FakeTransport>(network), network.clock);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(brief(judge.score(make_prompt({}), make_completion("x"))), "0.7 ok");
  EXPECT_EQ(times_of(network), (std::vector<double>{0, 0, 0, 60, 60, 60, 120, 120}));
}

TEST(JudgeLimits, TokensPerMinuteByWhatTheServerCounts) {
  FakeNetwork network;
  network.answer = [](const HttpRequest&) { return chat_reply(4000); };
  JudgeReward judge(
      {.name = "j", .keys = {{"url", "http://h/v1"}, {"model", "m"}, {"tokens_per_minute", 10000}}},
      std::make_unique<FakeTransport>(network), network.clock);
  for (int i = 0; i < 5; ++i) judge.score(make_prompt({}), make_completion("x"));
  // Two of 4000 and the next one's estimate, a few hundred, stay below 10000; with three of them they do not.
  EXPECT_EQ(times_of(network), (std::vector<double>{0, 0, 0, 60, 60}));
}

TEST(JudgeLimits, LateVotesAreATimeout) {
  FakeNetwork network;
  network.answer = [&](const HttpRequest&) {
    network.clock.pass(network.sent.back().timeout);
    return broken_reply(HttpReply::Outcome::kTimeout);
  };
  JudgeReward judge({.name = "j", .keys = {{"timeout_s", 5.0}, {"url", "http://h/v1"}, {"model", "m"}}},
                    std::make_unique<FakeTransport>(network), network.clock);
  const RewardResult result = judge.score(make_prompt({}), make_completion("x"));
  EXPECT_EQ(brief(result), "0 timeout");
}

TEST(JudgeConfig, RefusesWhatCannotWork) {
  const auto message = [](const RewardConfig& config) {
    return message_of<ConfigError>([&] { JudgeReward{config}; });
  };
  EXPECT_NE(message({.name = "j", .type = "judge", .keys = {{"url", "http://h/v1"}}}).find("`model`"),
            std::string::npos);
  EXPECT_NE(message({.name = "j", .type = "judge", .keys = {{"model", "m"}}}).find("`url`"),
            std::string::npos);
  for (const std::vector<std::string>& criteria :
       {std::vector<std::string>{"reason"}, {"a", "a"}, {""}, {"a\"b"}, {"a\nb"}}) {
    EXPECT_NE(message({.name = "j",
                       .type = "judge",
                       .keys = {{"url", "http://h/v1"}, {"model", "m"}, {"criteria", criteria}}})
                  .find("`criteria`"),
              std::string::npos);
  }
}

TEST(ChatApi, Addresses) {
  for (const char* base : {"http://h/v1", "http://h/v1/", "http://h/v1/chat/completions"})
    EXPECT_EQ(chat_url(base), "http://h/v1/chat/completions");
}

TEST(ChatApi, Replies) {
  EXPECT_EQ(read_chat_reply(R"({"choices":[{"message":{"content":"x"}}]})").content, "x");
  EXPECT_EQ(
      read_chat_reply(R"({"choices":[{"message":{"content":[{"type":"text","text":"a"},{"text":"b"}]}}]})")
          .content,
      "ab");
  EXPECT_EQ(read_chat_reply(R"({"choices":[],"usage":{"total_tokens":5}})").num_tokens, 5);
  for (const char* body :
       {"", "null", "[]", "{}", R"({"choices":[]})", R"({"choices":[{}]})",
        R"({"choices":[{"message":"x"}]})", R"({"choices":[{"message":{"content":null}}]})",
        R"({"choices":{"message":{"content":"x"}}})",
        R"({"choices":[{"message":{"content":"{\"quality\": 7}"},"finish_reason":"length"}]})",
        "{\"choices\":"}) {
    const ChatReply reply = read_chat_reply(body);
    EXPECT_FALSE(reply.content) << body;
    EXPECT_FALSE(reply.failure.empty()) << body;
  }
  EXPECT_FALSE(read_chat_reply(std::string(100000, '[')).content);
}

}  // namespace
}  // namespace cohort
