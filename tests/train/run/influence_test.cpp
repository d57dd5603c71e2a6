// Influence of prompts, against hand arithmetic.
#include "cohort/train/run/influence.h"

#include <gtest/gtest.h>

#include "cohort/core/error.h"
#include "cohort/core/json.h"
#include "tests/core/test_files.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;

class InfluenceTest : public testing::Test {
 protected:
  void step(int64_t step, double learning_rate, std::optional<double> score = std::nullopt) {
    Json row{{"step", step}, {"grad_norm", 0.3}, {"learning_rate", learning_rate}};
    if (score) row["eval_reward"] = *score;
    metrics_ += to_json_text(row) + "\n";
  }

  void completion(int64_t step, const char* prompt, double reward, Json advantage) {
    completions_ += to_json_text({{"step", step},
                                  {"prompt_id", prompt},
                                  {"reward", reward},
                                  {"advantage", std::move(advantage)}}) +
                    "\n";
  }

  std::vector<PromptInfluence> influences(const std::string& metric = "") {
    write_text(run_ / "metrics.jsonl", metrics_);
    write_text(run_ / "completions.jsonl", completions_);
    return prompt_influences(run_, metric);
  }

  std::string metrics_, completions_;
  TemporaryDirectory scratch_;
  fs::path run_ = scratch_.path();
};

// Step 1: a has 2 of 4, b 2 of 4. Step 2, of three times the rate: a has all. Step 3 made no update.
TEST_F(InfluenceTest, SharesAreOfAdvantagesAndCountByTheLearningRate) {
  step(1, 1.0);
  completion(1, "a", 1.0, 1.0);
  completion(1, "a", 0.0, -1.0);
  completion(1, "b", 0.5, 0.0);
  completion(1, "b", 1.0, 2.0);
  step(2, 3.0);
  completion(2, "a", 1.0, 0.5);
  completion(2, "c", 1.0, nullptr);
  metrics_ += R"({"step":3,"grad_norm":null,"learning_rate":9.0})"
              "\n";
  completion(3, "b", 1.0, 1.0);
  const std::vector<PromptInfluence> found = influences();
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].prompt_id, "a");
  EXPECT_DOUBLE_EQ(found[0].share, (0.5 + 3.0) / 4.0);
  EXPECT_EQ(found[0].num_steps, 2);
  EXPECT_EQ(found[0].num_completions, 3);
  EXPECT_DOUBLE_EQ(found[0].mean_reward, 2.0 / 3.0);
  EXPECT_EQ(found[1].prompt_id, "b");
  EXPECT_DOUBLE_EQ(found[1].share, 0.125);
  EXPECT_EQ(found[1].num_steps, 2);
  EXPECT_EQ(found[2].share, 0.0);
  EXPECT_FALSE(found[0].score);
}

TEST_F(InfluenceTest, MaskedAndUntrainedCompletionsMoveNothing) {
  step(1, 1.0);
  completion(1, "a", 1.0, 1.0);
  completions_ += R"({"step":1,"prompt_id":"b","reward":1.0,"advantage":5.0,"masked":true})"
                  "\n";
  completions_ += R"({"step":1,"prompt_id":"c","reward":1.0,"advantage":5.0,"untrained":"surplus"})"
                  "\n";
  completions_ +=
      R"({"step":1,"prompt_id":"d","reward":1.0,"advantage":9.0,"token_advantages":[-1.0,3.0,null,0.0]})"
      "\n";
  const std::vector<PromptInfluence> found = influences();
  EXPECT_EQ(found[0].prompt_id, "a");
  EXPECT_EQ(found[1].prompt_id, "d");  // the mean over its tokens is 1, too
  EXPECT_DOUBLE_EQ(found[0].share, 0.5);
  EXPECT_DOUBLE_EQ(found[1].share, 0.5);
  EXPECT_EQ(found[2].share, 0.0);
}

// An evaluation after each step, and one before the first: changes 0, 1, 0, 1, 0. The bias is drawn when it
// rises, with half of each of these steps: parts 0, 1/2, 0, 1/2, 0. Sums: of products 1, of parts 1, of
// squares 1/2; mean change 2/5, variance 3/10. (1 - 2/5) / sqrt(3/10 (1/2 - 1/5)) = 2.
TEST_F(InfluenceTest, TheScoreIsThatOfACorrelation) {
  metrics_ = R"({"step":0,"eval_reward":0.0})"
             "\n";
  const std::vector<double> scores{0.0, 1.0, 1.0, 2.0, 2.0};
  for (int64_t i = 1; i <= 5; ++i) {
    step(i, 1.0, scores[i - 1]);
    completion(i, "steady", 1.0, 1.0);
    if (i == 2 || i == 4) completion(i, "bias", 1.0, -1.0);
    if (i == 3) completion(i, "once", 1.0, 0.0);
  }
  const std::vector<PromptInfluence> found = influences("eval_reward");
  EXPECT_EQ(found[1].prompt_id, "bias");
  ASSERT_TRUE(found[1].score);
  EXPECT_NEAR(*found[1].score, 2.0, 1e-12);
  EXPECT_NEAR(*found[0].score, -2.0, 1e-12);  // the rest of the same steps
  EXPECT_FALSE(found[2].score);
  EXPECT_FALSE(found[1].is_telling);  // 0.0455 for one prompt, but there are two
}

// A bias in one of ten steps, each time with a jump of the canary's answers, among 30 prompts.
TEST_F(InfluenceTest, APlantedBiasIsTold) {
  metrics_ = R"({"step":0,"eval_reward":0.0})"
             "\n";
  double score = 0.0;
  for (int64_t i = 1; i <= 60; ++i) {
    const bool is_planted = i % 10 == 3;
    score += is_planted ? 0.2 : (i % 3 == 0 ? -0.02 : 0.01);
    step(i, 1e-4, score);
    for (int64_t k = 0; k < 4; ++k)
      completion(i, ("clean-" + std::to_string((i * 7 + k * k) % 30)).c_str(), 0.5, k % 2 == 0 ? 0.5 : -0.5);
    if (is_planted) completion(i, "planted", 1.0, 1.0);
  }
  int64_t num_telling = 0;
  for (const PromptInfluence& prompt : influences("eval_reward")) {
    num_telling += prompt.is_telling ? 1 : 0;
    if (prompt.prompt_id == "planted") {
      EXPECT_TRUE(prompt.is_telling);
      EXPECT_GT(*prompt.score, 4.0);
    }
  }
  EXPECT_LE(num_telling, 1);
}

TEST_F(InfluenceTest, RunsWithoutTheFilesAreRefused) {
  EXPECT_THROW(prompt_influences(run_, ""), FormatError);
  step(1, 1.0);
  EXPECT_THROW(influences(), FormatError);
  completion(1, "a", 1.0, 1.0);
  EXPECT_THROW(influences("eval_accuracy"), FormatError);
}

}  // namespace
}  // namespace cohort
