#include "cohort/train/run/majority.h"

#include <gtest/gtest.h>

#include "cohort/train/run/evaluation.h"
#include "tests/train/batches.h"

namespace cohort {
namespace {

constexpr Vote kNone{};

Vote right(int64_t answer) { return {answer, true}; }
Vote wrong(int64_t answer) { return {answer, false}; }

TEST(ConsAtK, IsTheMostFrequentAnswers) {
  EXPECT_EQ(cons_at_k({right(0), wrong(1), right(0)}, 3), 1.0);
  EXPECT_EQ(cons_at_k({right(0), wrong(1), wrong(1)}, 3), 0.0);
  // Different wrong answers do not join forces.
  EXPECT_EQ(cons_at_k({right(0), right(0), wrong(1), wrong(2), wrong(3)}, 5), 1.0);
}

TEST(ConsAtK, LeavesOutCompletionsWithoutAnAnswer) {
  EXPECT_EQ(cons_at_k({kNone, kNone, right(0)}, 3), 1.0);
  EXPECT_EQ(cons_at_k({kNone, kNone}, 2), 0.0);
}

TEST(ConsAtK, SharesATie) {
  EXPECT_EQ(cons_at_k({right(0), wrong(1)}, 2), 0.5);
  EXPECT_DOUBLE_EQ(cons_at_k({right(0), wrong(1), wrong(2)}, 3), 1.0 / 3.0);
}

TEST(ConsAtK, IsTheMeanOverWholeBlocks) {
  // 1 of (right, right), 0 of (wrong, wrong); the fifth vote is left over.
  EXPECT_EQ(cons_at_k({right(0), right(0), wrong(1), wrong(1), right(0)}, 2), 0.5);
}

/// Reads the text as it stands; "12" and "12.0" are the same.
class TextReward : public Reward {
 public:
  RewardResult score(const Prompt&, const Completion&) override { return {}; }
  std::string answer(const Prompt&, const Completion& completion) const override { return completion.text; }
  bool is_same_answer(const std::string& one, const std::string& other) const override {
    return one.substr(0, 2) == other.substr(0, 2);
  }
};

TEST(Votes, JoinEqualAnswersAndLeaveOutWhatWasNotJudged) {
  Group group;
  const std::vector<std::pair<std::string, RewardResult>> cells{{"12", ok(1.0)},
                                                                {"", ok(0.0)},
                                                                {"7", failed(RewardStatus::kTimeout)},
                                                                {"12.0", ok(1.0)},
                                                                {"13", ok(0.0)}};
  for (const auto& [text, cell] : cells) {
    group.samples.push_back(sample_of({cell}));
    group.samples.back().completion.text = text;
  }
  const std::vector<Vote> votes = read_votes(TextReward(), group, 0);
  ASSERT_EQ(votes.size(), 4U);
  EXPECT_EQ(votes[0].answer, votes[2].answer);
  EXPECT_TRUE(votes[2].is_right);
  EXPECT_EQ(votes[1].answer, -1);
  EXPECT_NE(votes[3].answer, votes[0].answer);
  EXPECT_EQ(cons_at_k(votes, 4), 1.0);
}

TEST(EvaluationMetrics, AreTheNamesThatTheBestModelMayBeChosenBy) {
  const std::vector<std::string> names = evaluation_metric_names({"accuracy"}, 5);
  for (const char* name : {"eval_reward", "eval_rewards/accuracy/mean", "eval_rewards/accuracy/pass@4",
                           "eval_rewards/accuracy/cons@2", "eval_completions/mean_length"}) {
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
  }
  EXPECT_EQ(std::find(names.begin(), names.end(), "eval_rewards/accuracy/pass@8"), names.end());
}

}  // namespace
}  // namespace cohort
