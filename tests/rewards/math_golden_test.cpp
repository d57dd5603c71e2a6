// The frozen pairs of tests/libs/answers/golden/math_pairs.jsonl, and math_completions.jsonl for where an
// answer stands. Their truth does not come from this verifier: none that differ may be called equal, and at
// most one in a hundred of those that are equal may be missed.
#include <gtest/gtest.h>

#include <iostream>
#include <map>

#include "tests/libs/answers/golden_pairs.h"
#include "tests/rewards/test_rows.h"

namespace cohort {
namespace {

// The completion of a pair: as it is, or the answer in a box.
std::string completion_of(const Json& pair) {
  if (pair.contains("completion")) return pair["completion"];
  return "So it is $\\boxed{" + pair["answer"].get<std::string>() + "}$.";
}

struct Counts {
  int num_equal = 0, num_unequal = 0, num_missed = 0, num_wrong = 0, num_masked = 0;
};

TEST(MathGolden, NoPairIsWronglyEqualAndFewAreMissed) {
  const auto reward = make_reward({.name = "accuracy"});
  std::map<std::string, Counts> categories;
  Counts total;
  for (const Json& pair : golden_pairs()) {
    const RewardResult result =
        reward->score(make_prompt({{"answer", pair["gold"]}}), make_completion(completion_of(pair)));
    const bool is_equal = pair["equal"], is_found = result.score == 1.0;
    for (Counts* counts : {&categories[pair["category"]], &total}) {
      ++(is_equal ? counts->num_equal : counts->num_unequal);
      counts->num_missed += is_equal && !is_found;
      counts->num_wrong += !is_equal && is_found;
      counts->num_masked += result.status != RewardStatus::kOk;
    }
    EXPECT_FALSE(is_found && !is_equal) << pair << " " << result.detail;
    if (is_equal && !is_found) std::cout << "missed " << pair << " " << result.detail << "\n";
    if (result.status != RewardStatus::kOk) std::cout << "masked " << pair << " " << result.detail << "\n";
  }
  for (const auto& [category, counts] : categories) {
    std::cout << category << ": " << counts.num_missed << " of " << counts.num_equal << " missed, "
              << counts.num_wrong << " of " << counts.num_unequal << " wrong, " << counts.num_masked
              << " masked\n";
  }
  EXPECT_GE(total.num_equal + total.num_unequal, 2000);
  EXPECT_EQ(total.num_wrong, 0);
  EXPECT_LE(total.num_missed * 100, total.num_equal);
}

}  // namespace
}  // namespace cohort
