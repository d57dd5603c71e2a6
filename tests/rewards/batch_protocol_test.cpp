// What a request holds, and what becomes of every kind of reply: each row gets its own reward or none.
#include "cohort/rewards/batch_protocol.h"

#include <gtest/gtest.h>

#include "tests/rewards/test_rows.h"

namespace cohort {
namespace {

class BatchProtocol : public testing::Test {
 protected:
  std::vector<RewardResult> read(const std::string& reply) { return read_batch_reply(reply, "b7", rows_); }

  /// Scores and statuses for a reply with these rewards, such as "0.5 ok, 0 error, 1 ok".
  std::string scores(const std::string& rewards) {
    std::string text;
    for (const RewardResult& result : read(R"({"id": "b7", "rewards": [)" + rewards + "]}"))
      text += (text.empty() ? "" : ", ") + brief(result);
    return text;
  }

  void expect_refused(const std::string& reply, const std::string& part) {
    EXPECT_FALSE(is_batch_reply(reply, "b7")) << reply.substr(0, 200);
    const std::vector<RewardResult> results = read(reply);
    ASSERT_EQ(results.size(), 3u);
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(brief(results[i]), "0 error") << reply.substr(0, 200);
      EXPECT_TRUE(results[i].detail.starts_with(str("rows.jsonl:", i + 1, ": "))) << results[i].detail;
      EXPECT_NE(results[i].detail.find(part), std::string::npos) << results[i].detail;
      EXPECT_LT(results[i].detail.size(), 600u);
    }
  }

  Prompt named(int line) {
    Prompt prompt = make_prompt({});
    prompt.id = str("rows.jsonl:", line);
    return prompt;
  }

  const Prompt prompts_[3] = {named(1), named(2), named(3)};
  const Completion completion_ = make_completion("text");
  const std::vector<RewardRow> rows_{
      {prompts_[0], completion_}, {prompts_[1], completion_}, {prompts_[2], completion_}};
};

TEST_F(BatchProtocol, ARequestIsOneLine) {
  const Prompt prompt =
      make_prompt({{"answer", 4}, {"list", {"a", 1.5}}, {"completion", "the column loses"}});
  const Prompt other = make_prompt({{"id", 17}});
  const Completion two = make_completion("two\nlines \"quoted\""), cut = make_completion("cut \xc3");
  const std::vector<RewardRow> rows{{prompt, two}, {other, cut}};
  EXPECT_EQ(batch_request("b7", rows),
            R"({"id":"b7","rows":[{"id":"0","prompt":"the prompt","completion":"two\nlines \"quoted\"",)"
            R"("completion_ids":[1,2,3],"answer":4,"list":["a",1.5]},)"
            R"({"id":"1","prompt":"the prompt","completion":"cut )"
            "\xef\xbf\xbd"
            R"(","completion_ids":[1,2,3],"id_column":17}]})");
}

TEST_F(BatchProtocol, RewardsComeInAnyOrder) {
  EXPECT_EQ(scores(R"({"id":"2","score":3},{"id":"0","score":-0.5},{"id":"1","score":1e3})"),
            "-0.5 ok, 1000 ok, 3 ok");
  EXPECT_TRUE(is_batch_reply(R"({"more": 1, "rewards": [], "id": "b7"})", "b7"));
}

TEST_F(BatchProtocol, NullSkipsAndErrorFails) {
  const std::vector<RewardResult> results =
      read(R"({"id":"b7","rewards":[{"id":"0","score":null},{"id":"1","score":null,"detail":"no tests"},)"
           R"({"id":"2","error":"ValueError: 3"}]})");
  EXPECT_EQ(brief(results[0]), "0 skipped");
  EXPECT_FALSE(results[0].detail.empty());
  EXPECT_EQ(brief(results[1]), "0 skipped");
  EXPECT_EQ(results[1].detail, "no tests");
  EXPECT_EQ(brief(results[2]), "0 error");
  EXPECT_EQ(results[2].detail, "rows.jsonl:3: ValueError: 3");
}

TEST_F(BatchProtocol, DetailsAreKeptAndBounded) {
  const std::string reply = R"({"id":"b7","rewards":[{"id":"0","score":1,"detail":"bad style","error":null},)"
                            R"({"id":"1","score":1,"detail":{"a":1}},{"id":"2","score":1,"detail":"x)";
  std::string umlauts;
  for (int i = 0; i < 1000; ++i) umlauts += "\xc3\xa4";
  const std::vector<RewardResult> results = read(reply + umlauts + R"("}]})");
  EXPECT_EQ(results[0].detail, "bad style");
  EXPECT_EQ(results[1].detail, R"({"a":1})");
  EXPECT_EQ(results[2].detail, "x" + umlauts.substr(0, 498) + "...");
}

TEST_F(BatchProtocol, ARowsFailureIsItsOwn) {
  const std::string others = R"({"id":"0","score":0.5},{"id":"2","score":1})";
  for (const char* row :
       {R"({"id":"1","score":NaN})", R"({"id":"1","score":Infinity})", R"({"id":"1","score":-Infinity})",
        R"({"id":"1","score":1e999})", R"({"id":"1","score":-1e999})", R"({"id":"1","score":"1"})",
        R"({"id":"1","score":true})", R"({"id":"1","score":[1]})", R"({"id":"1"})",
        R"({"id":"1","reward":1})", R"({"id":"1","score":1},{"id":"1","score":1})",
        R"({"id":"1","score":1},{"id":"1","score":null},{"id":"1","score":1})"}) {
    EXPECT_EQ(scores(str(row, ",", others)), "0.5 ok, 0 error, 1 ok") << row;
    EXPECT_EQ(scores(str(others, ",", row)), "0.5 ok, 0 error, 1 ok") << row;
  }
  EXPECT_EQ(scores(others), "0.5 ok, 0 error, 1 ok");
  EXPECT_EQ(scores(""), "0 error, 0 error, 0 error");
  EXPECT_EQ(read(R"({"id":"b7","rewards":[]})")[1].detail, "rows.jsonl:2: the reply has no reward for it");
}

TEST_F(BatchProtocol, WordsInTextsAreNoNumbers) {
  const std::vector<RewardResult> results =
      read(R"({"id":"b7","rewards":[{"id":"0","score":1,"detail":"a \"NaN, Infinity\\"},)"
           R"({"id":"1","score":1e-999},{"id":"2","score":-1.5E+2}]})");
  EXPECT_EQ(results[0].detail, R"(a "NaN, Infinity\)");
  EXPECT_EQ(brief(results[1]), "0 ok");
  EXPECT_EQ(brief(results[2]), "-150 ok");
}

// Python's JSON of a text that was cut inside of a pair; a reader of JSON refuses it.
TEST_F(BatchProtocol, HalfASurrogatePairCostsNothing) {
  const std::vector<RewardResult> results =
      read(R"({"id":"b7","rewards":[{"id":"0","score":1,"detail":"a\ud83d"},)"
           R"({"id":"1","score":1,"detail":"\ude00b\ud83d\ud83d\ude00\ud83dc\\ud83d"},)"
           R"({"id":"2","score":0.5,"detail":"\u00E4\n"}]})");
  EXPECT_EQ(brief(results[0]), "1 ok");
  EXPECT_EQ(results[0].detail, "a\xef\xbf\xbd");
  EXPECT_EQ(results[1].detail,
            "\xef\xbf\xbd"
            "b\xef\xbf\xbd\xf0\x9f\x98\x80\xef\xbf\xbd"
            R"(c\ud83d)");
  EXPECT_EQ(results[2].detail, "\xc3\xa4\n");
  expect_refused(R"({"id":"b7","rewards":[],"more":"\ud83)", "JSON");
}

// Cut first, a part of what is to be hidden would be left at the end.
TEST_F(BatchProtocol, TextsAreCleanedBeforeTheyAreCut) {
  const CleanText clean = [](std::string text) {
    const size_t at = text.find("secret");
    return at == std::string::npos ? text : text.replace(at, 6, "[key]");
  };
  const std::string x(497, 'x');
  const std::string reply = R"({"id":"b7","rewards":[{"id":"0","score":1,"detail":")" + x +
                            R"(\u0073ecret"},{"id":"1","error":")" + x +
                            R"(\u0073ecret"},{"id":"2","score":["\u0073ecret"]}]})";
  const std::vector<RewardResult> results = read_batch_reply(reply, "b7", rows_, clean);
  EXPECT_EQ(results[0].detail, x + "[ke...");
  EXPECT_EQ(results[1].detail, "rows.jsonl:2: " + x + "[ke...");
  EXPECT_NE(results[2].detail.find("[key]"), std::string::npos) << results[2].detail;
}

TEST_F(BatchProtocol, ARowThatWasNotAskedForSpoilsAll) {
  const std::string all = R"({"id":"0","score":1},{"id":"1","score":1},{"id":"2","score":1})";
  for (const char* row :
       {R"({"id":"3","score":1})", R"({"id":"","score":1})", R"({"id":"00","score":1})",
        R"({"id":"-1","score":1})", R"({"id":"1 ","score":1})", R"({"id":1,"score":1})", R"({"score":1})",
        "1", "null", "[]", R"({"id":"99999999999999999999","score":1})"}) {
    EXPECT_EQ(scores(str(all, ",", row)), "0 error, 0 error, 0 error") << row;
  }
}

TEST_F(BatchProtocol, WhatIsNoReplyIsRefused) {
  expect_refused("", "JSON");
  expect_refused("hello", "JSON");
  expect_refused("1", "id");
  expect_refused("null", "id");
  expect_refused(R"({"rewards":[]})", "missing");
  expect_refused(R"({"id":"b8","rewards":[]})", "\"b8\"");
  expect_refused(R"({"id":7,"rewards":[]})", "id");
  expect_refused(R"({"id":")" + std::string(100000, 'x') + R"(","rewards":[]})", "xxx");
  expect_refused(R"({"id":"b7"})", "rewards");
  expect_refused(R"({"id":"b7","rewards":{}})", "rewards");
  expect_refused(R"({"id":"b7","rewards":[]} 1)", "JSON");
  expect_refused(R"({"id":"b7","rewards":[],"rewards":[]})", "twice");
  expect_refused("{\"id\":\"b7\",\"rewards\":[],\"more\":\"\xff\"}", "UTF-8");
  expect_refused(R"({"id":"b7","rewards":)" + std::string(500000, '[') + std::string(500000, ']') + "}",
                 "nested");
}

TEST_F(BatchProtocol, AFloodIsRefused) {
  const std::string reply = R"({"id":"b7","rewards":[])" + std::string(kMaxReplyBytes, ' ') + "}";
  EXPECT_NE(read(reply)[0].detail.find("4 MiB"), std::string::npos);
  // Many keys take no time that grows with their square.
  std::string keys = R"({"id":"b7","rewards":[],"a":{)";
  for (int i = 0; i < 200000; ++i) keys += str(i == 0 ? "" : ",", "\"", i, "\":0");
  EXPECT_EQ(read(keys + "}}")[2].detail, "rows.jsonl:3: the reply has no reward for it");
}

}  // namespace
}  // namespace cohort
