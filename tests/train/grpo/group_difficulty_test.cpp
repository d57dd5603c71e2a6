// GFPO's adaptive difficulty: how many completions of a prompt are kept.
#include "cohort/train/grpo/group_difficulty.h"

#include <gtest/gtest.h>

#include "tests/train/batches.h"

namespace cohort {
namespace {

using GroupKs = std::vector<int64_t>;

/// How many samples are kept of each group with these rewards.
GroupKs kept_of(GroupDifficulty& difficulty, const std::vector<std::vector<double>>& rewards) {
  std::vector<Group> groups = groups_of(rewards);
  difficulty.assign(groups);
  GroupKs kept;
  for (const Group& group : groups) kept.push_back(group.num_kept);
  return kept;
}

// Means seen before: 0, 1/4, 1/2, 3/4. A prompt at 0.8 is above all of them, one at 0.5 above half.
TEST(GroupDifficulty, ComparesWithEarlierStepsAndIsResumed) {
  GroupDifficulty difficulty;
  // Nothing is known yet.
  EXPECT_EQ(kept_of(difficulty, {{0, 0}, {0.5, 0}, {0.5, 0.5}, {1, 0.5}}), (GroupKs{8, 8, 8, 8}));
  GroupDifficulty resumed;
  resumed.load(Json::parse(difficulty.save().dump()));
  for (GroupDifficulty* each : {&difficulty, &resumed}) {
    EXPECT_EQ(kept_of(*each, {{0.8, 0.8}, {0.6, 0.3}, {0, 1}, {kNoReward, kNoReward}}), (GroupKs{4, 6, 6, 8}))
        << "0.8; 0.45; 0.5; no reward";
    EXPECT_EQ(each->save().size(), 7U);
  }
}

TEST(GroupDifficulty, ForgetsWhatIsOld) {
  GroupDifficulty difficulty;
  for (const double reward : {0.0, 1.0}) {
    const std::vector<double> group{reward};
    kept_of(difficulty, std::vector<std::vector<double>>(GroupDifficulty::kMostMeans, group));
  }
  EXPECT_EQ(kept_of(difficulty, {{1.0}}), GroupKs{8});  // no longer above anything
}

}  // namespace
}  // namespace cohort
