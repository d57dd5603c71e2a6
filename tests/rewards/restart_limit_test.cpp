#include "cohort/rewards/restart_limit.h"

#include <gtest/gtest.h>

namespace cohort {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const RestartLimit::Clock::time_point kStart{};

TEST(RestartLimit, WaitsLongerWithEachDeathInARow) {
  RestartLimit limit;
  std::vector<int64_t> delays;
  for (int i = 0; i < 20; ++i) {
    delays.push_back(limit.delay().count());
    limit.record_death(true, "", kStart);
  }
  const std::vector<int64_t> first(delays.begin(), delays.begin() + 9);
  EXPECT_EQ(first, (std::vector<int64_t>{0, 0, 10, 20, 40, 80, 160, 250, 250}));
  EXPECT_EQ(delays.back(), 250);
  EXPECT_EQ(limit.refusal(kStart), std::nullopt);
  limit.record_answer();
  EXPECT_EQ(limit.delay(), milliseconds(0));
}

TEST(RestartLimit, RefusesWhatDiesBeforeItReads) {
  RestartLimit limit;
  for (int i = 0; i < 3; ++i) limit.record_death(false, "exit status 1", kStart + seconds(i));
  EXPECT_EQ(limit.refusal(kStart), std::nullopt);
  limit.record_death(true, "another", kStart);
  EXPECT_EQ(limit.refusal(kStart), std::nullopt);
  limit.record_death(false, "exit status 1", kStart + seconds(3));
  const auto refusal = limit.refusal(kStart + seconds(12));
  ASSERT_TRUE(refusal);
  EXPECT_EQ(*refusal,
            "exit status 1, 4 times in a row before it read a request; it is not started again for 10 s");
  EXPECT_EQ(limit.refusal(kStart + seconds(13)), std::nullopt);
  // One more try; its death begins another pause.
  limit.record_death(false, "exit status 1", kStart + seconds(14));
  EXPECT_TRUE(limit.refusal(kStart + seconds(23)));
  limit.record_answer();
  EXPECT_EQ(limit.refusal(kStart + seconds(14)), std::nullopt);
}

}  // namespace
}  // namespace cohort
