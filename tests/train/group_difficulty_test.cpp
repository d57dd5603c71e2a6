// GFPO's adaptive difficulty: how many completions of a prompt are kept.
#include "cohort/train/group_difficulty.h"

#include <gtest/gtest.h>

namespace cohort {
namespace {

using GroupKs = std::vector<int64_t>;

// Means seen before: 0, 1/4, 1/2, 3/4. A prompt at 0.8 is above all of them, one at 0.5 above half.
TEST(GroupDifficulty, ComparesWithEarlierStepsAndIsResumed) {
  const TotalRewards first{{0, 0, 0.5, 0, 0.5, 0.5, 1, 0.5}, {1, 1, 1, 1, 1, 1, 1, 1}};
  const TotalRewards second{{0.8, 0.8, 0.6, 0.3, 0, 1, 9, 9}, {1, 1, 1, 1, 1, 1, 0, 0}};
  const GroupKs ends{2, 4, 6, 8};
  GroupDifficulty difficulty;
  EXPECT_EQ(difficulty.take(first, ends), (GroupKs{8, 8, 8, 8}));  // nothing is known yet
  GroupDifficulty resumed;
  resumed.load(Json::parse(difficulty.save().dump()));
  for (GroupDifficulty* each : {&difficulty, &resumed}) {
    EXPECT_EQ(each->take(second, ends), (GroupKs{4, 6, 6, 8})) << "0.8; 0.45; 0.5; no reward";
    EXPECT_EQ(each->save().size(), 7U);
  }
}

TEST(GroupDifficulty, ForgetsWhatIsOld) {
  GroupDifficulty difficulty;
  const auto most = static_cast<int64_t>(GroupDifficulty::kMostMeans);
  for (const double reward : {0.0, 1.0}) {
    TotalRewards rewards{std::vector<double>(most, reward), std::vector<uint8_t>(most, 1)};
    GroupKs ends(most);
    for (int64_t i = 0; i < most; ++i) ends[i] = i + 1;
    difficulty.take(rewards, ends);
  }
  EXPECT_EQ(difficulty.take({{1.0}, {1}}, {1}), GroupKs{8});  // no longer above anything
}

}  // namespace
}  // namespace cohort
