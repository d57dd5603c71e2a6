// Which completions each process draws.
#include "cohort/train/run/rollout_share.h"

#include <gtest/gtest.h>

#include <string>

#include "libs/common/str.h"

namespace cohort {
namespace {

RolloutShare rollout(const std::vector<int64_t>& sizes) {
  std::vector<Prompt> prompts;
  for (size_t p = 0; p < sizes.size(); ++p) prompts.push_back({.id = str(p), .token_ids = {1}, .text = ""});
  return whole_rollout(prompts, sizes, {.seed = 1, .step = 2, .first_prompt = 100, .first_sample = 7});
}

/// "prompt:first sample+count" of each prompt in the share of a process.
std::string share(const std::vector<int64_t>& sizes, int64_t num_minibatches, bool keeps_groups, int64_t rank,
                  int64_t num_processes) {
  const RolloutShare own = share_of(rollout(sizes), num_minibatches, keeps_groups, rank, num_processes);
  std::string text;
  for (size_t i = 0; i < own.prompts.size(); ++i) {
    EXPECT_EQ(own.prompts[i].id, str(own.places[i]));
    text += str(text.empty() ? "" : " ", own.address.prompt_number(i), ":", own.address.first_sample_of(i),
                "+", own.sizes[i]);
  }
  return text;
}

TEST(RolloutShareTest, PromptsAreSharedOutInTheirOrder) {
  EXPECT_EQ(share({4, 4, 4, 4}, 1, true, 0, 2), "100:7+4 101:7+4");
  EXPECT_EQ(share({4, 4, 4, 4}, 1, true, 1, 2), "102:7+4 103:7+4");
  EXPECT_EQ(share({4, 4, 4, 4}, 1, true, 0, 1), "100:7+4 101:7+4 102:7+4 103:7+4");
}

TEST(RolloutShareTest, OfEachMiniBatchAPart) {
  EXPECT_EQ(share({4, 4, 4, 4}, 2, true, 0, 2), "100:7+4 102:7+4");
  EXPECT_EQ(share({4, 4, 4, 4}, 2, false, 1, 2), "101:7+4 103:7+4");
}

TEST(RolloutShareTest, GroupsAreCutWhereTheyMay) {
  EXPECT_EQ(share({4}, 1, false, 0, 2), "100:7+2");
  EXPECT_EQ(share({4}, 1, false, 1, 2), "100:9+2");
  EXPECT_EQ(share({4}, 1, true, 0, 2) + share({4}, 1, true, 1, 2), "100:7+4");
  EXPECT_EQ(share({3, 5}, 1, false, 0, 2), "100:7+3 101:7+1");
  EXPECT_EQ(share({3, 5}, 1, false, 1, 2), "101:8+4");
}

TEST(RolloutShareTest, EveryCompletionIsDrawnOnce) {
  for (const std::vector<int64_t>& sizes :
       {std::vector<int64_t>{3, 1, 7, 2}, {1}, {5, 5, 5}, {1, 1, 1, 1, 1, 1}}) {
    for (const bool keeps_groups : {false, true}) {
      for (const int64_t num_processes : {2, 3, 8}) {
        std::vector<int64_t> drawn(sizes.size(), 0), next(sizes.size(), 7);
        for (int64_t rank = 0; rank < num_processes; ++rank) {
          const RolloutShare own = share_of(rollout(sizes), 1, keeps_groups, rank, num_processes);
          for (size_t i = 0; i < own.prompts.size(); ++i) {
            const int64_t place = own.places[i];
            EXPECT_EQ(own.address.first_sample_of(i), next[place]);  // in the order of the processes
            next[place] += own.sizes[i];
            drawn[place] += own.sizes[i];
          }
        }
        EXPECT_EQ(drawn, sizes);
      }
    }
  }
}

}  // namespace
}  // namespace cohort
