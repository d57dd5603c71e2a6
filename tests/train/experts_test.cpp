#include "cohort/train/experts.h"

#include <gtest/gtest.h>

#include <cmath>

#include "cohort/core/error.h"

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

TEST(Experts, APlainCompletionEndsAsOneThatWasSampled) {
  const Completion expert = to_expert(prompt_of({{"prompt", "1+1="}, {"expert_completion", "2"}}), letters());
  EXPECT_EQ(expert.token_ids, (std::vector<int32_t>{'2', 0}));
  EXPECT_EQ(expert.sampler_logprobs, (std::vector<float>{0.0f, 0.0f}));
  EXPECT_EQ(expert.origin.size(), 2u);
  EXPECT_EQ(expert.finish_reason, FinishReason::kStop);
  EXPECT_EQ(expert.text, "2");
}

TEST(Experts, AConversationsEndIsTheTemplates) {
  const Json prompt = Json::array({{{"role", "user"}, {"content", "1+1?"}}});
  const Json message = {{"role", "assistant"}, {"content", "2"}};
  for (const Json& value : {Json("2"), message, Json::array({message})}) {
    const Completion expert =
        to_expert(prompt_of({{"prompt", prompt}, {"expert_completion", value}}), letters());
    EXPECT_EQ(text_of(expert.token_ids), "2;");
    EXPECT_EQ(expert.text, "2");
  }
}

TEST(Experts, WhatIsNoCompletionIsRefused) {
  const auto refusal = [](const Json& columns) -> std::string {
    try {
      to_expert(prompt_of(columns), letters());
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(refusal({{"prompt", "a"}}).find("f:1: the column \"expert_completion\" is missing"),
            std::string::npos);
  EXPECT_NE(refusal({{"prompt", "a"}, {"expert_completion", 3}}).find("must be a string"), std::string::npos);
  const Json prompt = Json::array({{{"role", "user"}, {"content", "1+1?"}}});
  EXPECT_NE(refusal({{"prompt", prompt}, {"expert_completion", 3}}).find("f:1"), std::string::npos);
}

TEST(Experts, MetricsTellThemFromThePolicysOwn) {
  ScoredRollout rollout;
  TotalRewards totals{{1.0, 0.0, 5.0, 2.0, 7.0, 9.0}, {1, 1, 1, 0, 1, 1}};
  for (size_t g = 0; g < 2; ++g) {
    rollout.groups.emplace_back().completions.resize(3);
    rollout.rewards.emplace_back(3, std::vector<std::string>{"r"});
    for (int64_t i = 0; i < 3; ++i) {
      rollout.groups.back().completions[i].token_ids.resize(g * 3 + i);
      rollout.rewards.back().at(i, 0).score = totals.values[g * 3 + i];
    }
  }
  const OwnCompletions own = own_completions(rollout, totals, {});
  ASSERT_EQ(own.groups.size(), 2u);
  EXPECT_EQ(own.groups[1].completions[1].token_ids.size(), 4u);
  EXPECT_EQ(own.rewards[1].num_completions(), 2);
  EXPECT_EQ(own.rewards[1].at(1, 0).score, 7.0);
  EXPECT_EQ(own.totals.values, (std::vector<double>{1.0, 0.0, 2.0, 7.0}));
  EXPECT_EQ(own.totals.valid, (std::vector<uint8_t>{1, 1, 0, 1}));
  EXPECT_NEAR(own.advantages.reward_mean, 8.0 / 3.0, 1e-12);
  EXPECT_NEAR(own.advantages.reward_std, std::sqrt(43.0 / 3.0), 1e-12);  // squares 25, 64 and 169 / 9, over 2
  EXPECT_NEAR(own.expert_reward, 7.0, 1e-12);
}

}  // namespace
}  // namespace cohort
