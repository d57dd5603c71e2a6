#include "cohort/view/token_texts.h"

#include <gtest/gtest.h>

#include "cohort/core/error.h"
#include "tests/view/run_case.h"

namespace cohort {
namespace {

std::string joined(const std::vector<TokenText>& tokens) {
  std::string text;
  for (const TokenText& token : tokens) text += token.text;
  return text;
}

TEST(TokenTexts, HaveLogprobsAndAdvantages) {
  const Json row = completion_line(1, "p", 0, 1.0, "6 * 7 = 42");
  const std::vector<TokenText> tokens = token_texts(demo_tokenizer(), row);
  ASSERT_EQ(tokens.size(), row.at("completion_ids").size());
  EXPECT_EQ(joined(tokens), "6 * 7 = 42");
  for (const TokenText& token : tokens) {
    EXPECT_EQ(token.logprob, -0.25);
    EXPECT_EQ(token.advantage, 0.5);
    EXPECT_FALSE(token.is_injected);
  }
}

TEST(TokenTexts, ShowSpecialTokensAndJoinTheBytesOfACharacter) {
  Json row = completion_line(1, "p", 0, 1.0, "a");
  std::vector<int32_t> ids;
  for (const char* spelling : {"<answer>", "Ã", "©", "z", "<|endoftext|>"}) {  // the bytes C3 A9 are é
    const std::optional<int32_t> id = demo_tokenizer().token_id(spelling);
    ASSERT_TRUE(id.has_value()) << spelling;
    ids.push_back(*id);
  }
  row["completion_ids"] = ids;
  row["logprobs"] = std::vector<double>{-1, -2, -3, -4, -5};
  const std::vector<TokenText> tokens = token_texts(demo_tokenizer(), row);
  ASSERT_EQ(tokens.size(), 5u);
  EXPECT_EQ(tokens[0].text, "<answer>");
  EXPECT_EQ(tokens[1].text, "");
  EXPECT_EQ(tokens[2].text, "é");
  EXPECT_EQ(tokens[3].text, "z");
  EXPECT_EQ(tokens[4].text, "<|endoftext|>");
  EXPECT_EQ(tokens[3].logprob, -4.0);
}

TEST(TokenTexts, GiveInjectedTokensNoValues) {
  Json row = completion_line(1, "p", 0, 1.0, "abcde");
  const size_t count = row.at("completion_ids").size();
  ASSERT_GE(count, 4u);
  row["injected"] = Json::array({Json::array({1, 2})});
  std::vector<double> logprobs(count - 2);
  for (size_t i = 0; i < logprobs.size(); ++i) logprobs[i] = -1.0 - static_cast<double>(i);
  row["logprobs"] = logprobs;
  row["token_advantages"] = logprobs;
  const std::vector<TokenText> tokens = token_texts(demo_tokenizer(), row);
  EXPECT_EQ(tokens[0].logprob, -1.0);
  EXPECT_TRUE(tokens[1].is_injected);
  EXPECT_FALSE(tokens[1].logprob.has_value());
  EXPECT_FALSE(tokens[2].advantage.has_value());
  EXPECT_EQ(tokens[3].logprob, -2.0);
  EXPECT_EQ(tokens[3].advantage, -2.0);
}

TEST(TokenTexts, RefuseColumnsThatDoNotFit) {
  Json row = completion_line(1, "p", 0, 1.0, "abcde");
  row["logprobs"] = std::vector<double>{-1.0};
  EXPECT_THROW(token_texts(demo_tokenizer(), row), FormatError);
  row = completion_line(1, "p", 0, 1.0, "abcde");
  row["injected"] = Json::array({Json::array({1, 200})});
  EXPECT_THROW(token_texts(demo_tokenizer(), row), FormatError);
}

TEST(RunTokenizer, FindsTheRunsOwn) {
  const RunCase run;
  const Json recipe{{"model", {{"path", (run.path() / "nowhere").string()}}}};
  RunTokenizer none(run.path());
  EXPECT_EQ(none.find(recipe), nullptr);
  EXPECT_NE(none.problem().find("tokenizer.json"), std::string::npos);
  run.add_final();
  EXPECT_NE(none.find(recipe), nullptr);  // it is there now
  EXPECT_TRUE(none.problem().empty());
  RunTokenizer of_model(run.path() / "elsewhere");
  EXPECT_NE(of_model.find({{"model", {{"path", std::string(COHORT_SOURCE_DIR) + "/recipes/demo"}}}}),
            nullptr);
}

}  // namespace
}  // namespace cohort
