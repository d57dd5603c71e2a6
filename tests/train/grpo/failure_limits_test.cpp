#include "cohort/train/grpo/failure_limits.h"

#include <gtest/gtest.h>

#include "tests/train/batches.h"

namespace cohort {
namespace {

/// A group of one reward function with so many cells of each kind.
Group cells(int64_t num_ok, int64_t num_sandbox_errors, int64_t num_timeouts = 0, int64_t num_skipped = 0) {
  Group group;
  const auto add = [&](int64_t count, const RewardResult& cell) {
    for (int64_t i = 0; i < count; ++i) group.samples.push_back(sample_of({cell}));
  };
  add(num_ok, ok(0.0));
  for (int64_t i = 0; i < num_sandbox_errors; ++i)
    add(1, failed(RewardStatus::kSandboxError, str("row ", i, ": worker gone\nsecond line")));
  add(num_timeouts, failed(RewardStatus::kTimeout, "late"));
  add(num_skipped, failed(RewardStatus::kSkipped));
  return group;
}

/// A step of one such group.
Batch step_of(int64_t num_ok, int64_t num_sandbox_errors, int64_t num_timeouts = 0, int64_t num_skipped = 0) {
  return batch_of({cells(num_ok, num_sandbox_errors, num_timeouts, num_skipped)});
}

FailureLimits limits(double sandbox_share, double failed_share, int64_t window) {
  return FailureLimits({sandbox_share, failed_share, window}, {"code"}, {true});
}

TEST(FailureLimits, OneBadCellOfATinyStepEndsNothing) {
  FailureLimits watch = limits(0.01, 0.5, 1000);
  for (int step = 0; step < 10; ++step) EXPECT_FALSE(watch.observe(step_of(15, 1))) << step;
  // The eleventh of 176: the 824 that are not there yet count as good, so ten are allowed.
  const std::optional<std::string> reason = watch.observe(step_of(15, 1));
  ASSERT_TRUE(reason);
  EXPECT_EQ(
      *reason,
      "reward code failed on 11 of its last 176 completions with sandbox_error, where "
      "train.max_sandbox_error_share = 0.01 allows 10 of 1000; the last one: sandbox_error, row 0: worker "
      "gone");
}

TEST(FailureLimits, ASandboxThatIsBrokenEndsTheRunAtOnce) {
  EXPECT_TRUE(limits(0.01, 1.0, 1000).observe(batch_of({cells(0, 8), cells(0, 8)})));
  EXPECT_FALSE(limits(0.01, 1.0, 1000).observe(batch_of({cells(0, 8), cells(0, 2)})));
}

TEST(FailureLimits, TheShareIsOfTheNewestStepsThatFillTheWindow) {
  // Ten allowed of 100. Steps of 40: the window is the newest three, of 120 cells, of which 12 may fail.
  FailureLimits watch = limits(0.1, 1.0, 100);
  EXPECT_FALSE(watch.observe(step_of(30, 10)));
  EXPECT_FALSE(watch.observe(step_of(40, 0)));
  EXPECT_FALSE(watch.observe(step_of(38, 2)));   // 12 of 120
  EXPECT_FALSE(watch.observe(step_of(30, 10)));  // the first step has left: 12 of 120
  EXPECT_TRUE(watch.observe(step_of(39, 1)));    // the empty one has: 13 of 120
}

TEST(FailureLimits, AStepLargerThanTheWindowCountsWhole) {
  FailureLimits watch = limits(0.01, 1.0, 100);
  EXPECT_FALSE(watch.observe(step_of(990, 10)));
  EXPECT_TRUE(watch.observe(step_of(989, 11)));
}

TEST(FailureLimits, AllThatFailedHasALimitOfItsOwn) {
  FailureLimits watch = limits(1.0, 0.5, 10);
  EXPECT_FALSE(watch.observe(step_of(2, 2, 3, 100)));  // 5 of 10; skipped ones are no cells
  const std::optional<std::string> reason = watch.observe(step_of(0, 0, 1));
  ASSERT_TRUE(reason);
  EXPECT_EQ(
      *reason,
      "reward code failed on 6 of its last 8 completions, where train.max_failed_share = 0.5 allows 5 of "
      "10; the last one: timeout, late");
  EXPECT_FALSE(limits(1.0, 1.0, 1).observe(step_of(0, 500, 500)));  // 1 is off
  EXPECT_FALSE(limits(0.29, 1.0, 100).observe(step_of(71, 29)));    // 0.29 * 100 is below 29 in binary
  EXPECT_TRUE(limits(0.0, 1.0, 1000).observe(step_of(15, 1)));      // 0 allows none
}

TEST(FailureLimits, EachRewardHasItsOwnCountAndSomeHaveNone) {
  Group group;
  for (int i = 0; i < 4; ++i)
    group.samples.push_back(sample_of({ok(0.0), failed(RewardStatus::kError, "broken")}));
  const Batch step = batch_of({group}, {"code", "log"}, {1.0, 1.0});
  EXPECT_FALSE(FailureLimits({0.01, 0.5, 4}, {"code", "log"}, {true, false}).observe(step));
  const std::optional<std::string> reason =
      FailureLimits({0.01, 0.5, 4}, {"code", "log"}, {true, true}).observe(step);
  ASSERT_TRUE(reason);
  EXPECT_TRUE(reason->starts_with("reward log failed on 4 of its last 4")) << *reason;
}

TEST(FailureLimits, ARewardThatFailsOnAllOfTheFirstStepsEndsTheRunThere) {
  FailureLimits watch = limits(1.0, 0.5, 1000);
  EXPECT_FALSE(watch.observe(step_of(0, 0, 8)));
  const std::optional<std::string> reason = watch.observe(step_of(0, 0, 8, 100));
  ASSERT_TRUE(reason);
  EXPECT_EQ(*reason,
            "reward code failed on all of its 16 completions in 2 steps; the last one: timeout, late");
  EXPECT_FALSE(watch.observe(step_of(0, 0, 100)));  // and then it begins anew
}

TEST(FailureLimits, OneStepFewCellsOrOneSuccessAreNotAllOfTheFirstSteps) {
  EXPECT_FALSE(limits(1.0, 0.5, 1000).observe(step_of(0, 0, 400)));
  FailureLimits few = limits(1.0, 0.5, 1000);
  for (int step = 0; step < 3; ++step) EXPECT_FALSE(few.observe(step_of(0, 0, 5))) << step;
  EXPECT_TRUE(few.observe(step_of(0, 0, 1)));  // the sixteenth
  FailureLimits once = limits(1.0, 0.5, 1000);
  EXPECT_FALSE(once.observe(step_of(1, 0, 15)));
  for (int step = 0; step < 10; ++step) EXPECT_FALSE(once.observe(step_of(0, 0, 16))) << step;
  FailureLimits off = limits(1.0, 1.0, 1000);
  for (int step = 0; step < 10; ++step) EXPECT_FALSE(off.observe(step_of(0, 0, 16))) << step;
}

TEST(FailureLimits, AStartThatNoRewardJudgesEndsTheRun) {
  FailureLimits watch = limits(1.0, 0.5, 1000);
  EXPECT_FALSE(watch.observe(step_of(0, 0, 0, 400)));  // one step
  const std::optional<std::string> reason = watch.observe(step_of(0, 0, 0, 8));
  ASSERT_TRUE(reason);
  EXPECT_TRUE(reason->starts_with("every reward skipped all 408 completions in 2 steps")) << *reason;
  FailureLimits once = limits(1.0, 0.5, 1000);
  EXPECT_FALSE(once.observe(step_of(1, 0, 0, 15)));
  FailureLimits resumed = limits(1.0, 0.5, 1000);
  resumed.load(once.save());
  FailureLimits off = limits(1.0, 1.0, 1000);
  for (int step = 0; step < 4; ++step) {
    EXPECT_FALSE(once.observe(step_of(0, 0, 0, 16))) << step;
    EXPECT_FALSE(resumed.observe(step_of(0, 0, 0, 16))) << step;
    EXPECT_FALSE(off.observe(step_of(0, 0, 0, 16))) << step;
  }
}

TEST(FailureLimits, BeginsAnewAfterIt) {
  FailureLimits watch = limits(0.1, 1.0, 10);
  ASSERT_TRUE(watch.observe(step_of(0, 10)));
  EXPECT_FALSE(watch.observe(step_of(9, 1)));
}

TEST(FailureLimits, GoesOnFromWhatWasSaved) {
  FailureLimits watch = limits(0.1, 0.5, 100);
  ASSERT_FALSE(watch.observe(step_of(40, 4, 7)));
  ASSERT_FALSE(watch.observe(step_of(20, 3, 1)));
  FailureLimits other = limits(0.1, 0.5, 100);
  other.load(Json::parse(watch.save().dump()));
  EXPECT_EQ(other.save(), watch.save());
  const Batch next = step_of(20, 4);
  const std::optional<std::string> reason = watch.observe(next);
  ASSERT_TRUE(reason);
  EXPECT_EQ(other.observe(next), reason);
}

}  // namespace
}  // namespace cohort
