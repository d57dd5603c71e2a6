#include "cohort/train/grpo/demonstrations.h"

#include <gtest/gtest.h>

#include <cmath>

#include "cohort/core/error.h"
#include "tests/train/batches.h"

namespace cohort {
namespace {

/// A token is a character; conversations are rendered as "role:content;" each.
SftFormat letters() {
  SftFormat format;
  format.text.tokenize = [](const std::string& s) { return std::vector<int32_t>(s.begin(), s.end()); };
  format.text.tokenize_rendered = format.text.tokenize;
  format.text.render = [](const Json& messages, const RenderOptions& options) {
    std::string all;
    for (const Json& message : messages)
      all += message.at("role").get<std::string>() + ":" + message.at("content").get<std::string>() + ";";
    return options.add_generation_prompt ? all + "assistant:" : all;
  };
  format.eos_id = 0;
  return format;
}

Prompt prompt_of(const Json& columns) { return to_prompt({columns, "f:1", "f:1"}, letters().text); }

std::string text_of(const std::vector<int32_t>& ids) { return {ids.begin(), ids.end()}; }

TEST(Demonstrations, APlainCompletionEndsAsOneThatWasSampled) {
  const Completion demonstration =
      to_demonstration(prompt_of({{"prompt", "1+1="}, {"demonstration", "2"}}), letters());
  EXPECT_EQ(demonstration.token_ids, (std::vector<int32_t>{'2', 0}));
  EXPECT_EQ(demonstration.sampler_logprobs, (std::vector<float>{0.0f, 0.0f}));
  EXPECT_EQ(demonstration.num_sampled(), 2);
  EXPECT_EQ(demonstration.finish_reason, FinishReason::kStop);
  EXPECT_EQ(demonstration.text, "2");
}

TEST(Demonstrations, AConversationsEndIsTheTemplates) {
  const Json prompt = Json::array({{{"role", "user"}, {"content", "1+1?"}}});
  const Json message = {{"role", "assistant"}, {"content", "2"}};
  for (const Json& value : {Json("2"), message, Json::array({message})}) {
    const Completion demonstration =
        to_demonstration(prompt_of({{"prompt", prompt}, {"demonstration", value}}), letters());
    EXPECT_EQ(text_of(demonstration.token_ids), "2;");
    EXPECT_EQ(demonstration.text, "2");
  }
}

TEST(Demonstrations, WhatIsNoCompletionIsRefused) {
  const auto refusal = [](const Json& columns) -> std::string {
    try {
      to_demonstration(prompt_of(columns), letters());
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(refusal({{"prompt", "a"}}).find("f:1: the column \"demonstration\" is missing"),
            std::string::npos);
  EXPECT_NE(refusal({{"prompt", "a"}, {"demonstration", 3}}).find("must be a string"), std::string::npos);
  const Json prompt = Json::array({{{"role", "user"}, {"content", "1+1?"}}});
  EXPECT_NE(refusal({{"prompt", prompt}, {"demonstration", 3}}).find("f:1"), std::string::npos);
}

TEST(Demonstrations, MetricsTellThemFromThePolicysOwn) {
  Batch batch = batch_of(groups_of({{1.0, 0.0, 5.0}, {kNoReward, 7.0, 9.0}}));
  for (size_t g = 0; g < 2; ++g) {
    std::vector<Sample>& samples = batch.groups[g].samples;
    for (size_t i = 0; i < 3; ++i) samples[i].completion.token_ids.resize(g * 3 + i);
    samples.back().is_demonstration = true;
  }
  const Batch own = without_demonstrations(batch);
  ASSERT_EQ(own.groups.size(), 2u);
  ASSERT_EQ(own.groups[0].samples.size(), 2u);
  ASSERT_EQ(own.groups[1].samples.size(), 2u);
  const Sample& last = own.groups[1].samples[1];
  EXPECT_EQ(last.completion.token_ids.size(), 4u);
  EXPECT_EQ(last.rewards[0].score, 7.0);
  EXPECT_EQ(rewards_of(own.groups[0]), (std::vector<double>{1.0, 0.0}));
  EXPECT_FALSE(own.groups[1].samples[0].has_reward());
  EXPECT_EQ(last.reward, 7.0);
  const RewardSummary summary = own_summary(own, {.mean = 0.0, .std = 0.0, .frac_zero_std = 0.5});
  EXPECT_NEAR(summary.mean, 8.0 / 3.0, 1e-12);
  EXPECT_NEAR(summary.std, std::sqrt(43.0 / 3.0), 1e-12);  // squares 25, 64 and 169 / 9, over 2
  EXPECT_EQ(summary.frac_zero_std, 0.5);
  EXPECT_NEAR(mean_demonstration_reward(batch), 7.0, 1e-12);
}

}  // namespace
}  // namespace cohort
