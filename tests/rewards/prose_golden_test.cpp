// The frozen rows of tests/rewards/golden/prose_answers.jsonl: values as people write them, made by a
// generator that knows them (tools/make_golden/prose_answers.py). No distractor may score, and few values may
// be missed.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>

#include "tests/rewards/test_rows.h"

namespace cohort {
namespace {

struct Counts {
  int num_equal = 0, num_unequal = 0, num_missed = 0, num_wrong = 0;
};

TEST(ProseGolden, NoDistractorScoresAndFewValuesAreMissed) {
  const char* other = std::getenv("COHORT_PROSE_ROWS");  // rows made with another seed
  std::ifstream file(other ? other : COHORT_SOURCE_DIR "/tests/rewards/golden/prose_answers.jsonl");
  const auto reward = make_reward({.name = "accuracy"});
  std::map<std::string, Counts> kinds;
  Counts total;
  for (std::string line; std::getline(file, line);) {
    const Json row = Json::parse(line);
    const RewardResult result =
        reward->score(make_prompt({{"answer", row["gold"]}}), make_completion(row["completion"]));
    const bool is_equal = row["equal"], is_found = result.score == 1.0;
    for (Counts* counts : {&kinds[row["kind"]], &total}) {
      ++(is_equal ? counts->num_equal : counts->num_unequal);
      counts->num_missed += is_equal && !is_found;
      counts->num_wrong += !is_equal && is_found;
    }
    EXPECT_FALSE(is_found && !is_equal) << row << " " << result.detail;
    EXPECT_EQ(result.status, RewardStatus::kOk) << row << " " << result.detail;
    if (is_equal && !is_found) std::cout << "missed " << row << " " << result.detail << "\n";
  }
  for (const auto& [kind, counts] : kinds) {
    std::cout << kind << ": " << counts.num_missed << " of " << counts.num_equal << " missed, "
              << counts.num_wrong << " of " << counts.num_unequal << " wrong\n";
  }
  EXPECT_GE(total.num_equal + total.num_unequal, 2000);
  EXPECT_EQ(total.num_wrong, 0);
  EXPECT_LE(total.num_missed * 50, total.num_equal);
}

}  // namespace
}  // namespace cohort
