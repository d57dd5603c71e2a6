// Slots of an update: how completions are cut, and that results survive their way between processes.
#include "cohort/train/run/slots.h"

#include <gtest/gtest.h>

namespace cohort {
namespace {

/// Groups of completions with these lengths.
class SlotsTest : public testing::Test {
 protected:
  std::vector<PackGroup> groups(const std::vector<std::vector<int64_t>>& lengths) {
    std::vector<PackGroup> all;
    prompts_.assign(lengths.size(), {1});
    completions_.clear();
    for (const auto& group : lengths) completions_.emplace_back(group.size());
    int64_t place = 0;
    for (size_t g = 0; g < lengths.size(); ++g) {
      PackGroup& group = all.emplace_back(PackGroup{&prompts_[g], {}});
      for (size_t i = 0; i < lengths[g].size(); ++i) {
        completions_[g][i].token_ids.resize(lengths[g][i]);
        group.completions.emplace_back(&completions_[g][i], place++);
      }
    }
    return all;
  }

  /// The places of the completions in each slot, groups apart: "0 1 | 2, 3".
  static std::string text_of(const std::vector<std::vector<PackGroup>>& slots) {
    std::string text;
    for (const auto& slot : slots) {
      if (&slot != &slots.front()) text += ";";
      for (size_t g = 0; g < slot.size(); ++g) {
        text += g == 0 ? "" : " |";
        for (const PackedCompletion& packed : slot[g].completions) text += " " + std::to_string(packed.place);
      }
    }
    return text;
  }

  std::vector<std::vector<int32_t>> prompts_;
  std::vector<std::vector<Completion>> completions_;
};

TEST_F(SlotsTest, HaveAboutAsManyTokensEach) {
  EXPECT_EQ(text_of(cut_into_slots(groups({{4, 4}, {4, 4}}), 1, false)), " 0 1 | 2 3");
  EXPECT_EQ(text_of(cut_into_slots(groups({{4, 4}, {4, 4}}), 2, false)), " 0 1; 2 3");
  EXPECT_EQ(text_of(cut_into_slots(groups({{4, 4}, {4, 4}}), 4, false)), " 0; 1; 2; 3");
  EXPECT_EQ(text_of(cut_into_slots(groups({{9, 1}, {1, 1}}), 2, false)), " 0; 1 | 2 3");
  EXPECT_EQ(text_of(cut_into_slots(groups({{1, 1, 1}, {1, 9}}), 2, false)), " 0 1 2 | 3; 4");
}

TEST_F(SlotsTest, KeepGroupsWholeWhereTheLossNeedsThem) {
  EXPECT_EQ(text_of(cut_into_slots(groups({{1, 1, 1}, {1, 9}}), 2, true)), " 0 1 2; 3 4");
  EXPECT_EQ(text_of(cut_into_slots(groups({{4, 4, 4, 4}}), 2, true)), "; 0 1 2 3");
}

TEST_F(SlotsTest, MayBeEmpty) {
  EXPECT_EQ(text_of(cut_into_slots(groups({}), 2, false)), ";");
  EXPECT_EQ(cut_into_slots(groups({{7}}), 4, false).size(), 4u);
}

TEST(LossResultTest, SurvivesAsBytes) {
  LossResult result;
  result.objective.add_total("loss", 0.1);
  result.objective.add_mean("kl", 1.0 / 3.0, 7.0);
  result.objective.add_smallest("low", -2.5);
  result.objective.add_largest("high", 1e300);
  result.rows = {.prompt = 3, .completion = 5, .repeated_prompt = 1};
  result.aux_loss = 0.25;
  result.entropy_sum = 0.7;
  result.num_forwarded_tokens = 11;
  result.logprob_difference_sum = 1e-9;
  result.logprob_difference_max = 1e-10;
  result.length_preference_gradient = -4.0;
  result.is_finite = false;
  Completion completion;
  completion.append(4, TokenOrigin::kSampled);
  result.nonfinite = {completion};
  const LossResult back = loss_result_from(to_bytes(result));
  EXPECT_EQ(back.objective.values(), result.objective.values());
  EXPECT_EQ(back.rows.completion, 5);
  EXPECT_EQ(back.rows.repeated_prompt, 1);
  EXPECT_EQ(back.aux_loss, 0.25);
  EXPECT_EQ(back.entropy_sum, 0.7);
  EXPECT_EQ(back.num_forwarded_tokens, 11);
  EXPECT_EQ(back.logprob_difference_sum, 1e-9);
  EXPECT_EQ(back.logprob_difference_max, 1e-10);
  EXPECT_EQ(back.length_preference_gradient, -4.0);
  EXPECT_FALSE(back.is_finite);
  ASSERT_EQ(back.nonfinite.size(), 1u);
  EXPECT_EQ(back.nonfinite[0].token_ids, std::vector<int32_t>{4});
  LossResult nothing;
  nothing.objective.add_mean("kl", 0.0, 0.0);
  EXPECT_FALSE(loss_result_from(to_bytes(nothing)).aux_loss);
  EXPECT_TRUE(loss_result_from(to_bytes(nothing)).objective.has("kl"));
}

}  // namespace
}  // namespace cohort
