#include "cohort/train/grpo/reward_timings.h"

#include <gtest/gtest.h>

#include "cohort/train/grpo/step_metrics.h"

namespace cohort {
namespace {

RewardCall::Clock::time_point at(double seconds) {
  return RewardCall::Clock::time_point(
      std::chrono::duration_cast<RewardCall::Clock::duration>(std::chrono::duration<double>(seconds)));
}

TEST(Percentile, IsTheNearestRank) {
  std::vector<double> values;
  for (int i = 100; i >= 1; --i) values.push_back(i);
  EXPECT_EQ(percentile(values, 0.5), 50.0);
  EXPECT_EQ(percentile(values, 0.9), 90.0);
  EXPECT_EQ(percentile(values, 0.99), 99.0);
  EXPECT_EQ(percentile(values, 1.0), 100.0);
  EXPECT_EQ(percentile({3.0, 1.0, 2.0}, 0.5), 2.0);
  EXPECT_EQ(percentile({3.0, 1.0, 2.0}, 0.99), 3.0);
  EXPECT_EQ(percentile({7.0}, 0.01), 7.0);
}

// Generation ends at second 10. Judge: 2 s before; 4 s of which 1 after; one call of 6 s after for two rows.
// Rule: half a second before, in a round of its own that ended at second 3.
TEST(RewardTimings, SplitTheWorkAtTheEndOfGeneration) {
  const std::vector<RewardCall> calls{{0, at(1.0), at(3.0), 1},
                                      {0, at(7.0), at(11.0), 1},
                                      {0, at(11.0), at(17.0), 2},
                                      {0, at(11.0), at(17.0), 2}};
  const Metrics timings =
      reward_timings({"judge", "rule", "idle"},
                     {{{{1, at(2.0), at(2.5), 1}, {1, at(3.0), at(3.25), 1}}, at(3.0)}, {calls, at(10.0)}});
  ASSERT_EQ(timings.size(), 8U);
  EXPECT_NEAR(find_metric(timings, "timing_s/reward_beside_gen"), 2.0 + 3.0 + 0.5, 1e-9);
  EXPECT_NEAR(find_metric(timings, "timing_s/reward_after_gen"), 0.25 + 1.0 + 6.0, 1e-9);
  EXPECT_NEAR(find_metric(timings, "timing_s/reward/judge/p50"), 4.0, 1e-9);
  EXPECT_NEAR(find_metric(timings, "timing_s/reward/judge/p90"), 6.0, 1e-9);
  EXPECT_NEAR(find_metric(timings, "timing_s/reward/judge/p99"), 6.0, 1e-9);
  EXPECT_NEAR(find_metric(timings, "timing_s/reward/rule/p99"), 0.5, 1e-9);
}

TEST(RewardTimings, OfToolsAreByName) {
  const Metrics timings = reply_timings({.of_calls = {{"search", {0.5, 0.1, 0.2}}}, .idle_s = 0.75});
  EXPECT_EQ(timings, (Metrics{{"timing_s/idle_for_tools", 0.75},
                              {"timing_s/tools/search/p50", 0.2},
                              {"timing_s/tools/search/p90", 0.5},
                              {"timing_s/tools/search/p99", 0.5}}));
}

}  // namespace
}  // namespace cohort
