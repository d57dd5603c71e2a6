// Rewards that are models: what they are shown, what they give, and that it depends on nothing else.
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "cohort/core/error.h"
#include "cohort/models/classifier.h"
#include "cohort/reward_models/all_rewards.h"
#include "cohort/rewards/reward_scorer.h"
#include "cohort/tensor/one_thread.h"
#include "cohort/text/tokenizer.h"
#include "tests/reward_models/reward_model_files.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;

class ModelRewardTest : public testing::Test {
 protected:
  ModelRewardTest() : policy_(write_tokenizer(folder_.path() / "policy")) {}

  fs::path write(const char* name, HeadKind head, int64_t num_labels) {
    return write_reward_model(folder_.path() / name, policy_, head, num_labels);
  }
  fs::path outcome_model() { return write("outcome", HeadKind::kSequenceClassification, 1); }
  fs::path process_model() { return write("process", HeadKind::kTokenClassification, 2); }

  std::unique_ptr<Reward> make(const RewardConfig& config) const {
    return make_reward(config, all_rewards({policy_, {}}));
  }

  Prompt prompt(const std::string& text) const {
    Prompt prompt;
    prompt.id = "data.jsonl:7";
    prompt.text = text;
    prompt.token_ids = tokenizer_.encode(text);
    return prompt;
  }

  Completion completion(const std::string& text, bool has_stopped = true) const {
    Completion completion;
    completion.text = text;
    completion.token_ids = tokenizer_.encode(text);
    if (has_stopped) {
      completion.token_ids.push_back(0);
      completion.finish_reason = FinishReason::kStop;
    }
    return completion;
  }

  const ThreadCount one_thread_{1};
  TemporaryDirectory folder_;
  fs::path policy_;
  const Tokenizer tokenizer_ = Tokenizer::from_directory(kDemoFiles);
};

std::vector<int32_t> joined(const Prompt& prompt, const Completion& completion) {
  std::vector<int32_t> ids = prompt.token_ids;
  ids.insert(ids.end(), completion.token_ids.begin(), completion.token_ids.end());
  return ids;
}

TEST_F(ModelRewardTest, ScoresTheSampledIds) {
  const fs::path path = outcome_model();
  const auto reward = make({.name = "model", .keys = {{"path", path}}});
  const auto decoder = load_pretrained(path, at::kFloat, at::kCPU, HeadKind::kSequenceClassification);
  const Prompt asked = prompt("Numbers: 1 2 3.");
  for (const Completion& answer : {completion("1 + 2"), completion("12 - 3", false), completion("")}) {
    const RewardResult result = reward->score(asked, answer);
    EXPECT_EQ(result.status, RewardStatus::kOk) << result.detail;
    EXPECT_EQ(result.score, sequence_scores(*decoder, {joined(asked, answer)}).item<float>());
  }
  // Ids count, not the text: it may be cut before a stop string.
  Completion other = completion("1 + 2");
  other.text = "1";
  EXPECT_EQ(reward->score(asked, other).score, reward->score(asked, completion("1 + 2")).score);
  EXPECT_NE(reward->score(asked, completion("2 + 1")).score, reward->score(asked, other).score);
}

TEST_F(ModelRewardTest, AnotherTokenizerEncodesTheTextAnew) {
  const fs::path other = write_tokenizer(folder_.path() / "other", " ");  // other bytes, the same ids
  const fs::path path =
      write_reward_model(folder_.path() / "foreign", other, HeadKind::kSequenceClassification, 1);
  const auto reward = make({.name = "model", .keys = {{"path", path}}});
  const auto decoder = load_pretrained(path, at::kFloat, at::kCPU, HeadKind::kSequenceClassification);
  const Prompt asked = prompt("Numbers: 1 2 3.");
  for (const bool has_stopped : {true, false}) {
    Completion answer = completion("1 + 2", has_stopped);
    const double expected = sequence_scores(*decoder, {joined(asked, answer)}).item<float>();
    for (int32_t& id : answer.token_ids) id = 7;  // the policy's ids mean nothing to it
    EXPECT_EQ(reward->score(asked, answer).score, expected);
  }
}

TEST_F(ModelRewardTest, ConversationsGoThroughItsOwnTemplate) {
  const fs::path other = write_tokenizer(folder_.path() / "chat", " ");
  write_text(other / "chat_template.jinja",
             "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
             "{% if add_generation_prompt %}assistant: {% endif %}");
  const fs::path path =
      write_reward_model(folder_.path() / "chat-model", other, HeadKind::kSequenceClassification, 1);
  const auto reward = make({.name = "model", .keys = {{"path", path}}});
  const auto decoder = load_pretrained(path, at::kFloat, at::kCPU, HeadKind::kSequenceClassification);
  Prompt asked = prompt("as the policy's template renders it");
  asked.fields["prompt_messages"] = Json::parse(R"([{"role": "user", "content": "1 2"}])");
  std::vector<int32_t> ids = tokenizer_.encode("user: 1 2\nassistant: ");
  for (const int32_t id : tokenizer_.encode("3\n")) ids.push_back(id);
  EXPECT_EQ(reward->score(asked, completion("3")).score, sequence_scores(*decoder, {ids}).item<float>());
}

TEST_F(ModelRewardTest, AScoreDependsOnNothingBeside) {
  const std::string outcome = outcome_model(), process = process_model();
  for (const RewardConfig& config :
       {RewardConfig{.name = "model", .keys = {{"path", outcome}}},
        RewardConfig{.name = "process", .keys = {{"path", process}}},
        RewardConfig{.name = "model", .keys = {{"path", outcome}, {"dtype", "bfloat16"}}}}) {
    const auto reward = make(config);
    std::vector<Prompt> prompts;
    std::vector<Completion> completions;
    std::string text;
    for (int i = 0; i < 40; ++i) {
      text += str(i, " + ", i, i % 3 == 0 ? "\n" : " ");
      prompts.push_back(prompt(i % 2 == 0 ? "the first" : "the second, longer one"));
      completions.push_back(completion(text.substr(text.size() > 90 ? text.size() - 90 : 0), i % 3 == 0));
    }
    std::vector<RewardRow> rows;
    for (int i = 0; i < 40; ++i) rows.push_back({prompts[i], completions[i]});
    const std::vector<RewardResult> together = reward->score_batch(rows);
    for (size_t i = 0; i < rows.size(); ++i) {
      const RewardResult alone = reward->score(prompts[i], completions[i]);
      ASSERT_EQ(together[i].score, alone.score) << config.name << i;
      ASSERT_EQ(together[i].steps.size(), alone.steps.size());
      for (size_t s = 0; s < alone.steps.size(); ++s)
        ASSERT_EQ(together[i].steps[s].score, alone.steps[s].score) << i << " " << s;
    }
  }
}

TEST_F(ModelRewardTest, StepsAreThoseOfTheTokenHead) {
  const fs::path path = process_model();
  const auto decoder = load_pretrained(path, at::kFloat, at::kCPU, HeadKind::kTokenClassification);
  const Prompt asked = prompt("Numbers: 4 2.");
  const Completion answer = completion("4 - 2 = 2\n2 + 2");
  // The model reads the last step closed, without the end of sequence.
  const std::vector<int32_t> ids = joined(asked, completion("4 - 2 = 2\n2 + 2\n", false));
  const at::Tensor shares = at::softmax(token_scores(*decoder, {ids}).to(at::kDouble), 1).select(1, 1);
  const auto first_end = static_cast<int64_t>(tokenizer_.encode("4 - 2 = 2\n").size());
  const auto before = static_cast<int64_t>(asked.token_ids.size());
  const double first = shares[before + first_end - 1].item<double>(), second = shares[-1].item<double>();
  const RewardResult result = make({.name = "process", .keys = {{"path", path}}})->score(asked, answer);
  ASSERT_EQ(result.steps.size(), 2u) << result.detail;
  EXPECT_NEAR(result.steps[0].score, first, 1e-6);
  EXPECT_NEAR(result.steps[1].score, second, 1e-6);
  EXPECT_EQ(result.steps[0].end, first_end);
  EXPECT_EQ(result.steps[1].end, static_cast<int64_t>(answer.token_ids.size()));
  EXPECT_NEAR(result.score, std::min(first, second), 1e-6);
  const auto by = [&](const char* aggregation) {
    return make({.name = "process", .keys = {{"path", path}, {"aggregation", aggregation}}})
        ->score(asked, answer)
        .score;
  };
  EXPECT_NEAR(by("mean"), (first + second) / 2, 1e-6);
  EXPECT_NEAR(by("last"), second, 1e-6);
}

TEST_F(ModelRewardTest, EndsOfStepsAreInThePolicysTokens) {
  // The policy spells every byte as a token, the model merges them: the same text, other numbers of tokens.
  const std::string text = "think of the number\nanswer";
  const fs::path path =
      write_reward_model(folder_.path() / "foreign", write_tokenizer(folder_.path() / "o", " "),
                         HeadKind::kTokenClassification, 2);
  Completion answer = completion(text, false);
  answer.token_ids.clear();
  for (const char letter : text) {
    const std::vector<int32_t> ids = tokenizer_.encode(std::string(1, letter));
    answer.token_ids.insert(answer.token_ids.end(), ids.begin(), ids.end());
  }
  ASSERT_GT(answer.token_ids.size(), tokenizer_.encode(text).size());
  const RewardResult result = make({.name = "process", .keys = {{"path", path}}})->score(prompt("x"), answer);
  ASSERT_EQ(result.steps.size(), 2u) << result.detail;
  EXPECT_EQ(result.steps[0].end, 20);
  EXPECT_EQ(result.steps[1].end, static_cast<int64_t>(answer.token_ids.size()));
}

TEST_F(ModelRewardTest, WhatItCannotReadIsUnparsed) {
  const auto reward = make({.name = "model", .keys = {{"path", outcome_model()}}});
  const Prompt asked = prompt("1 2");
  Completion longer = completion("");
  longer.token_ids.assign(300, 5);
  Completion unknown = completion("1");
  unknown.token_ids.push_back(5000);
  const Completion good = completion("1");
  const std::vector<RewardRow> rows{{asked, longer}, {asked, good}, {asked, unknown}};
  const std::vector<RewardResult> results = reward->score_batch(rows);
  EXPECT_EQ(results[0].status, RewardStatus::kUnparsed);
  EXPECT_NE(results[0].detail.find("context of 256"), std::string::npos) << results[0].detail;
  EXPECT_EQ(results[1].score, reward->score(asked, good).score);
  EXPECT_EQ(results[2].status, RewardStatus::kUnparsed);
  EXPECT_NE(results[2].detail.find("data.jsonl:7: id 5000"), std::string::npos) << results[2].detail;
}

TEST_F(ModelRewardTest, SettingsThatDoNotFitAreRefused) {
  const auto refuses = [&](const RewardConfig& config, const char* part) {
    const std::string message = message_of<UserError>([&] { make(config); });
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  const std::string outcome = outcome_model(), process = process_model();
  const std::string labels = write("labels", HeadKind::kSequenceClassification, 3);
  refuses({.name = "model"}, "`path`");
  refuses({.name = "model", .keys = {{"path", "/no/such"}}}, "no such model directory");
  refuses({.name = "model", .keys = {{"path", process}}}, "Qwen3ForTokenClassification");
  refuses({.name = "process", .keys = {{"path", outcome}}}, "Qwen3ForSequenceClassification");
  refuses({.name = "model", .keys = {{"path", outcome}, {"aggregation", "mean"}}}, "no effect");
  refuses({.name = "model", .keys = {{"path", labels}}}, "0 (\"LABEL_0\"), 1 (\"LABEL_1\")");
  refuses({.name = "model", .keys = {{"path", labels}, {"label", "good"}}}, "no label \"good\"");
  refuses({.name = "judgement", .type = "proces"}, "\"process\"");
  EXPECT_EQ(make({.name = "model", .keys = {{"path", labels}, {"label", "LABEL_2"}}})->batch_size(), 16);
  fs::remove(folder_.path() / "outcome" / "tokenizer.json");
  refuses({.name = "model", .keys = {{"path", outcome}}}, "tokenizer.json");
}

TEST_F(ModelRewardTest, TheScorerRunsThemBesideTheRest) {
  RewardScorer scorer({{.name = "model", .keys = {{"path", outcome_model()}}},
                       {.name = "steps",
                        .type = "process",
                        .weight = 0.0,
                        .clip_max = 0.5,
                        .keys = {{"path", process_model()}}},
                       {.name = "format"}},
                      all_rewards({policy_, {}}));
  EXPECT_EQ(scorer.gives_steps(), (std::vector<uint8_t>{0, 1, 0}));
  const Decoder shapes(read_decoder_config(folder_.path() / "outcome"), at::kFloat, at::kMeta);
  EXPECT_GT(scorer.memory_bytes(), 4 * shapes.num_parameters() * 4);  // two models, each twice
  for (int64_t i = 0; i < 20; ++i) scorer.submit(0, i, prompt("1 2"), completion(str(i, "\n", i * i)));
  const auto rewards = scorer.take(0);
  const auto alone = make({.name = "model", .keys = {{"path", outcome_model()}}});
  for (int64_t i = 0; i < 20; ++i) {
    EXPECT_EQ(rewards[i][0].score, alone->score(prompt("1 2"), completion(str(i, "\n", i * i))).score);
    ASSERT_EQ(rewards[i][1].steps.size(), 2u);
    for (const StepReward& step : rewards[i][1].steps) EXPECT_LE(step.score, 0.5);
  }
}

TEST(OneThread, LeavesOtherThreadsAlone) {
  const ThreadCount two{2};
  int inside = 0;
  std::thread([&] {
    const OneThread one_thread;
    inside = at::get_num_threads();
  }).join();
  EXPECT_EQ(inside, 1);
  EXPECT_EQ(at::get_num_threads(), 2);
  int later = 0;
  std::thread([&] { later = at::get_num_threads(); }).join();
  EXPECT_EQ(later, 2);
}

}  // namespace
}  // namespace cohort
