// Steps of a solution, in its text and in its tokens.
#include "cohort/reward_models/steps.h"

#include <gtest/gtest.h>

#include "tests/reward_models/reward_model_files.h"

namespace cohort {
namespace {

using Ends = std::vector<size_t>;
using Tokens = std::vector<int64_t>;

TEST(Steps, EndBehindTheirSeparators) {
  const auto expect = [](const char* text, const char* separator, const Ends& ends, bool is_open) {
    const Steps steps = split_steps(text, separator);
    EXPECT_EQ(steps.ends, ends) << text;
    EXPECT_EQ(steps.is_open, is_open) << text;
  };
  expect("a\nbc\n", "\n", {2, 5}, false);
  expect("a\nbc", "\n", {2, 4}, true);
  expect("a\n\n \nbc\n  ", "\n", {2, 8}, false);  // blank stretches are no steps
  expect("\n\na", "\n", {3}, true);
  expect("one. \xd0\xba. two", ". ", {5, 9, 12}, true);
  expect("a##b##", "##", {3, 6}, false);
  expect("", "\n", {0}, true);
  expect(" \n ", "\n", {3}, true);
}

class StepTokensTest : public testing::Test {
 protected:
  StepTokens cut(const std::string& text, const std::string& separator = "\n") const {
    return step_tokens(tokenizer_, tokenizer_.encode(text), text, separator);
  }
  std::string decode(const std::vector<int32_t>& ids, int64_t count) const {
    return tokenizer_.decode(std::span(ids).first(count));
  }

  const Tokenizer tokenizer_ = Tokenizer::from_directory(kDemoFiles);
};

TEST_F(StepTokensTest, EndWithTheTokenThatCompletesTheSeparator) {
  const std::string text = "<think>12 - 4 = 8\n8 * 2 = 16</think>\n<answer>(12 - 4) * 2</answer>";
  const StepTokens steps = cut(text);
  ASSERT_EQ(steps.ends.size(), 3u);
  EXPECT_EQ(decode(steps.ids, steps.ends[0]), "<think>12 - 4 = 8\n");
  EXPECT_EQ(decode(steps.ids, steps.ends[1]), "<think>12 - 4 = 8\n8 * 2 = 16</think>\n");
  EXPECT_EQ(decode(steps.ids, steps.ends[2]), text + "\n");  // closed
  EXPECT_EQ(steps.ends[2], static_cast<int64_t>(steps.ids.size()));
}

TEST_F(StepTokensTest, WhatStandsBehindTheLastStepIsLeftOut) {
  std::vector<int32_t> ids = tokenizer_.encode("a b\n");
  const size_t length = ids.size();
  ids.push_back(0);  // the end of sequence has no text
  const StepTokens closed = step_tokens(tokenizer_, ids, "a b\n", "\n");
  EXPECT_EQ(closed.ids, std::vector<int32_t>(ids.begin(), ids.begin() + length));
  ids = tokenizer_.encode("a b");
  ids.push_back(0);
  EXPECT_EQ(step_tokens(tokenizer_, ids, "a b", "\n").ids, tokenizer_.encode("a b\n"));
}

TEST_F(StepTokensTest, SeveralBytesAndSeveralTokens) {
  // A character of three bytes is three tokens here; its separator has two characters.
  const std::string text = "x\xe2\x82\xac.. y\xe2\x82\xac";
  const StepTokens steps = cut(text, "..");
  ASSERT_EQ(steps.ends.size(), 2u);
  EXPECT_EQ(decode(steps.ids, steps.ends[0]), "x\xe2\x82\xac..");
  EXPECT_EQ(decode(steps.ids, steps.ends[1]), text + "..");
}

TEST_F(StepTokensTest, TextWithoutStepsIsOneStep) {
  EXPECT_EQ(cut("").ends, Tokens{1});
  EXPECT_EQ(cut("").ids, tokenizer_.encode("\n"));
}

TEST_F(StepTokensTest, TokenEndsOfTextThatIsNotThere) {
  EXPECT_EQ(token_ends(tokenizer_, tokenizer_.encode("ab"), {1, 2, 9}), (Tokens{1, 2, 2}));
  EXPECT_EQ(token_ends(tokenizer_, {}, {0}), Tokens{0});
}

}  // namespace
}  // namespace cohort
