#include "cohort/explain/prompt_summary.h"

#include <gtest/gtest.h>

#include <cmath>

namespace cohort {
namespace {

CompletionEntry drawn(uint64_t prompt, uint32_t step, float reward, uint32_t flags = 0) {
  CompletionEntry entry;
  entry.prompt = prompt;
  entry.step = step;
  entry.reward = reward;
  entry.flags = flags;
  return entry;
}

TEST(PromptSummaries, CountWhatThePolicyDrew) {
  const std::vector<CompletionEntry> entries{
      drawn(1, 1, 1.0F, kIsDemonstration),
      drawn(1, 2, NAN),
      drawn(2, 2, 0.25F),
      drawn(1, 3, 0.0F),
      drawn(1, 3, 0.5F, kIsUntrained),
      drawn(1, 3, NAN),
      drawn(3, 4, NAN),
      drawn(1, 5, 0.75F),
      drawn(1, 5, 1.0F, kIsDemonstration),
      drawn(1, 6, NAN),
      drawn(3, 6, NAN),
      drawn(4, 6, 1.0F, kIsDemonstration),
  };
  const std::vector<PromptSummary> prompts = prompt_summaries(entries);
  ASSERT_EQ(prompts.size(), 3u);
  EXPECT_EQ(prompts[0].prompt, 1u);
  EXPECT_EQ(prompts[0].first_entry, 1u);
  EXPECT_EQ(prompts[0].count, 6u);
  EXPECT_EQ(prompts[0].first_step, 3u);
  EXPECT_EQ(prompts[0].last_step, 5u);
  EXPECT_EQ(prompts[0].first_reward, 0.25);
  EXPECT_EQ(prompts[0].last_reward, 0.75);
  EXPECT_EQ(prompts[1].prompt, 3u);  // no reward at all
  EXPECT_EQ(prompts[1].first_step, 4u);
  EXPECT_EQ(prompts[1].last_step, 6u);
  EXPECT_TRUE(std::isnan(prompts[1].first_reward));
  EXPECT_TRUE(std::isnan(prompts[1].last_reward));
  EXPECT_EQ(prompts[2].prompt, 2u);
  EXPECT_EQ(prompts[2].first_reward, prompts[2].last_reward);
}

}  // namespace
}  // namespace cohort
