// A judge that is loaded here, at the limit of its memory; tests/cli/test_reward_models.py has what it says.
#include <gtest/gtest.h>

#include "cohort/reward_models/all_rewards.h"
#include "tests/reward_models/reward_model_files.h"

namespace cohort {
namespace {

/// The judgement of a completion whose question has so many tokens.
RewardResult judge_question(int64_t num_tokens) {
  const TemporaryDirectory folder;
  const std::filesystem::path files = write_tokenizer(folder.path() / "tokenizer");
  write_text(files / "chat_template.jinja", str("{% for i in range(", num_tokens, ") %}1{% endfor %}"));
  Json config = tiny_config("Qwen3ForCausalLM");
  config["vocab_size"] = 420;
  config["max_position_embeddings"] = 16384;
  save_pretrained(*tiny_decoder(config, at::kFloat, 1), files, folder.path() / "judge");
  const auto judge = make_reward(
      {.name = "judge", .keys = {{"max_completion_length", 1}, {"path", folder.path() / "judge"}}},
      all_rewards({files, {}}));
  Prompt prompt;
  prompt.id = "row";
  return judge->score(prompt, {});
}

TEST(LocalJudge, AQuestionMayFillItsCache) {
  const RewardResult result = judge_question(8191);
  EXPECT_EQ(result.status, RewardStatus::kError);
  EXPECT_NE(result.detail.find("did not end within 1 tokens"), std::string::npos) << result.detail;
}

TEST(LocalJudge, LongerQuestionsAreNotAsked) {
  const RewardResult result = judge_question(8193);
  EXPECT_EQ(result.status, RewardStatus::kUnparsed);
  EXPECT_NE(result.detail.find("8193 tokens"), std::string::npos) << result.detail;
}

}  // namespace
}  // namespace cohort
