// pass@k and the figures of an evaluation.
#include "cohort/train/run/evaluation.h"

#include <gtest/gtest.h>

#include "cohort/sampler/prompt_batches.h"
#include "tests/train/batches.h"

namespace cohort {
namespace {

/// A group of samples with these lengths and cells. Those of 9 tokens were cut, the others ended.
Group judged_group(const std::vector<int64_t>& lengths, const std::vector<RewardResult>& cells) {
  Group group;
  for (size_t i = 0; i < lengths.size(); ++i) {
    group.samples.push_back(sample_of({cells.at(i)}, lengths[i]));
    group.samples.back().completion.finish_reason =
        lengths[i] < 9 ? FinishReason::kStop : FinishReason::kLength;
  }
  return group;
}

/// The figures of a step with one reward function.
Evaluation evaluation_of(std::vector<Group> groups, double weight) {
  return summarize(batch_of(std::move(groups), {"judge"}, {weight}));
}

TEST(PassAtK, IsOneMinusTheChanceOfDrawingFailuresOnly) {
  EXPECT_DOUBLE_EQ(pass_at_k(4, 1, 1), 0.25);
  EXPECT_DOUBLE_EQ(pass_at_k(4, 1, 2), 0.5);  // 1 - 3/6
  EXPECT_DOUBLE_EQ(pass_at_k(5, 2, 2), 0.7);  // 1 - 3/10
  EXPECT_DOUBLE_EQ(pass_at_k(10, 3, 4), 1.0 - 35.0 / 210.0);
  EXPECT_DOUBLE_EQ(pass_at_k(4, 0, 4), 0.0);
  EXPECT_DOUBLE_EQ(pass_at_k(4, 3, 2), 1.0);  // two failures do not exist
  EXPECT_DOUBLE_EQ(pass_at_k(1, 1, 1), 1.0);
}

/// 1 - C(n - c, k) / C(n, k), counted subset by subset.
double pass_at_k_by_enumeration(int n, int c, int k) {
  int num_subsets = 0, num_passing = 0;
  for (unsigned subset = 0; subset < (1u << n); ++subset) {
    if (__builtin_popcount(subset) != k) continue;
    ++num_subsets;
    num_passing += (subset & ((1u << c) - 1)) != 0;
  }
  return static_cast<double>(num_passing) / num_subsets;
}

TEST(PassAtK, EqualsCountingAllSubsets) {
  for (int n = 1; n <= 9; ++n) {
    for (int c = 0; c <= n; ++c) {
      for (int k = 1; k <= n; ++k) {
        EXPECT_NEAR(pass_at_k(n, c, k), pass_at_k_by_enumeration(n, c, k), 1e-12)
            << n << " " << c << " " << k;
      }
    }
  }
}

TEST(Evaluation, SummarizesLengthsRewardsAndFinishReasons) {
  const Evaluation result = evaluation_of({judged_group({2, 4, 9, 9}, {ok(1.0), ok(0.0), ok(0.5), ok(0.0)}),
                                           judged_group({1, 3, 5, 7}, {ok(1.0), ok(1.0), ok(0.0), ok(0.0)})},
                                          2.0);
  EXPECT_EQ(result.num_prompts, 2);
  EXPECT_EQ(result.num_completions, 8);
  EXPECT_DOUBLE_EQ(result.mean_length, 5.0);
  EXPECT_EQ(result.min_length, 1);
  EXPECT_EQ(result.max_length, 9);
  EXPECT_EQ(result.num_stopped, 6);
  ASSERT_EQ(result.rewards.size(), 1u);
  const RewardEvaluation& judge = result.rewards[0];
  EXPECT_EQ(judge.name, "judge");
  EXPECT_DOUBLE_EQ(*judge.mean, 3.5 / 8.0);
  EXPECT_DOUBLE_EQ(*result.mean_reward, 7.0 / 8.0);
  // A score of 0.5 is no success: 1 of 4 and 2 of 4 succeed.
  ASSERT_EQ(judge.pass_at.size(), 3u);
  EXPECT_DOUBLE_EQ(judge.pass_at.at(1), (0.25 + 0.5) / 2);
  EXPECT_DOUBLE_EQ(judge.pass_at.at(2), (0.5 + 5.0 / 6.0) / 2);
  EXPECT_DOUBLE_EQ(judge.pass_at.at(4), 1.0);
}

TEST(Evaluation, LeavesOutWhatWasNotJudged) {
  const RewardResult timeout = failed(RewardStatus::kTimeout), skipped = failed(RewardStatus::kSkipped);
  const Evaluation result =
      evaluation_of({judged_group({1, 1}, {ok(1.0), timeout}), judged_group({1, 1}, {timeout, skipped}),
                     judged_group({1, 1}, {ok(0.0), ok(0.0)})},
                    1.0);
  const RewardEvaluation& judge = result.rewards[0];
  EXPECT_DOUBLE_EQ(*judge.mean, 1.0 / 3.0);
  EXPECT_DOUBLE_EQ(judge.pass_at.at(1), 0.5);  // prompts 0 and 2
  EXPECT_DOUBLE_EQ(judge.pass_at.at(2), 0.0);  // prompt 2
  EXPECT_EQ(judge.status_counts[static_cast<size_t>(RewardStatus::kOk)], 3);
  EXPECT_EQ(judge.status_counts[static_cast<size_t>(RewardStatus::kTimeout)], 2);
  EXPECT_EQ(judge.status_counts[static_cast<size_t>(RewardStatus::kSkipped)], 1);
}

TEST(Evaluation, HasNoMeanWhenNothingWasJudged) {
  const Evaluation result = evaluation_of({judged_group({1}, {failed(RewardStatus::kError)})}, 1.0);
  EXPECT_FALSE(result.mean_reward.has_value());
  EXPECT_FALSE(result.rewards[0].mean.has_value());
  EXPECT_TRUE(result.rewards[0].pass_at.empty());
}

TEST(PromptBatches, CoverAllPromptsInOrder) {
  std::vector<Prompt> prompts(130);
  for (size_t i = 0; i < prompts.size(); ++i) prompts[i].id = std::to_string(i);
  for (const int64_t num_generations : {1, 8, 9, 512, 5000}) {
    int64_t next = 0;
    for (const PromptBatch& batch : prompt_batches(prompts, num_generations)) {
      EXPECT_EQ(batch.first, next);
      for (const Prompt& prompt : batch.prompts) EXPECT_EQ(prompt.id, std::to_string(next++));
    }
    EXPECT_EQ(next, 130);
  }
}

}  // namespace
}  // namespace cohort
