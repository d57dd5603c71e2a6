// The frozen pairs, both ways and against themselves. tests/rewards/math_golden_test.cpp counts how many are
// judged as they should be.
#include <gtest/gtest.h>

#include "libs/answers/comparison.h"
#include "libs/answers/extraction.h"
#include "tests/libs/answers/golden_pairs.h"

namespace cohort {
namespace {

TEST(MathGolden, VerdictsAreSymmetric) {
  for (const Json& pair : golden_pairs()) {
    if (pair.contains("completion")) continue;
    const std::string gold = pair["gold"], answer = pair["answer"];
    EXPECT_EQ(answers::judge(gold, answer).verdict.outcome, answers::judge(answer, gold).verdict.outcome)
        << pair;
  }
}

TEST(MathGolden, EveryGoldAnswerEqualsItself) {
  for (const Json& pair : golden_pairs()) {
    const std::string gold(answers::find_gold_answer(pair["gold"].get_ref<const std::string&>()));
    // With a space in front the texts differ, so the trees are compared.
    EXPECT_TRUE(answers::judge(gold, "\\," + gold).verdict.is_equal()) << pair;
  }
}

}  // namespace
}  // namespace cohort
