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
  auto last = kStart;
  for (int i = 0; i < 20; ++i) {
    const auto start = limit.next_start(last);
    delays.push_back(std::chrono::duration_cast<milliseconds>(start - last).count());
    limit.record_death(true, "", start);
    last = start;
  }
  const std::vector<int64_t> first(delays.begin(), delays.begin() + 9);
  EXPECT_EQ(first, (std::vector<int64_t>{0, 0, 10, 20, 40, 80, 160, 250, 250}));
  EXPECT_EQ(delays.back(), 250);
  EXPECT_EQ(limit.refusal(last), std::nullopt);
  EXPECT_EQ(limit.next_start(last + seconds(1)), last + seconds(1));  // long enough after the one before
  limit.record_answer();
  EXPECT_EQ(limit.next_start(last), last);
}

// However many ask for a start at the same time, each gets one of its own.
TEST(RestartLimit, StartsOfSeveralCopiesAreApart) {
  RestartLimit limit;
  for (int i = 0; i < 10; ++i) limit.record_death(true, "", kStart);
  const auto now = kStart + seconds(5);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(limit.next_start(now), now + i * milliseconds(250));
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
