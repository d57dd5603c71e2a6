#include "cohort/rewards/http/rate_limiter.h"

#include <gtest/gtest.h>

#include <vector>

#include "libs/common/random.h"

namespace cohort {
namespace {

Clock::TimePoint at(double seconds) { return Clock::TimePoint{} + seconds_of(seconds); }

double seconds(Clock::TimePoint time) {
  return std::chrono::duration<double>(time - Clock::TimePoint{}).count();
}

TEST(RateLimiter, WithoutLimitsNobodyWaits) {
  RateLimiter limiter(std::nullopt, std::nullopt);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(limiter.reserve(1 << 20, at(1))->time, at(1));
}

TEST(RateLimiter, TheRequestBeyondTheLimitWaitsForTheFirstToBeAMinuteOld) {
  RateLimiter limiter(3, std::nullopt);
  EXPECT_EQ(limiter.reserve(0, at(0))->time, at(0));
  EXPECT_EQ(limiter.reserve(0, at(10))->time, at(10));
  EXPECT_EQ(limiter.reserve(0, at(20))->time, at(20));
  EXPECT_EQ(limiter.reserve(0, at(30))->time, at(60));
  EXPECT_EQ(limiter.reserve(0, at(30))->time, at(70));
  EXPECT_EQ(limiter.reserve(0, at(75))->time, at(80));
  EXPECT_EQ(limiter.reserve(0, at(300))->time, at(300));
}

TEST(RateLimiter, TokensOfTheLastMinuteCount) {
  RateLimiter limiter(std::nullopt, 100);
  EXPECT_EQ(limiter.reserve(60, at(0))->time, at(0));
  EXPECT_EQ(limiter.reserve(40, at(5))->time, at(5));
  EXPECT_EQ(limiter.reserve(60, at(5))->time, at(60));  // the first one is gone then
  EXPECT_EQ(limiter.reserve(1, at(60))->time, at(65));
  EXPECT_EQ(limiter.reserve(1000, at(65))->time,
            at(125));  // as much as a minute has, when all others are gone
}

TEST(RateLimiter, WhatComesTooLateTakesNothing) {
  RateLimiter limiter(2, std::nullopt);
  limiter.reserve(0, at(0));
  limiter.reserve(0, at(1));
  EXPECT_FALSE(limiter.reserve(0, at(2), at(59)));
  EXPECT_EQ(limiter.reserve(0, at(2), at(60))->time, at(60));
  EXPECT_FALSE(limiter.reserve(0, at(2), at(60)));
  EXPECT_EQ(limiter.reserve(0, at(2))->time, at(61));
}

TEST(RateLimiter, TheServersCountReplacesTheEstimate) {
  RateLimiter limiter(std::nullopt, 100);
  const auto first = limiter.reserve(90, at(0));
  limiter.settle(first->id, 10);
  EXPECT_EQ(limiter.reserve(90, at(1))->time, at(1));
  EXPECT_EQ(limiter.reserve(1, at(2))->time, at(60));
  limiter.settle(first->id, 90);  // forgotten by now: no harm
}

TEST(RateLimiter, NoMinuteHoldsMoreThanTheLimits) {
  constexpr int64_t kRequests = 7, kTokens = 50;
  RateLimiter limiter(kRequests, kTokens);
  CounterRng random(5);
  struct Use {
    double time;
    int64_t tokens;
  };
  std::vector<Use> uses;
  double now = 0.0;
  for (int i = 0; i < 2000; ++i) {
    now += random.next_unit() < 0.2 ? 20.0 * random.next_unit() : 0.0;
    const auto tokens = static_cast<int64_t>(random.below(20));
    uses.push_back({seconds(limiter.reserve(tokens, at(now))->time), tokens});
    ASSERT_GE(uses.back().time, now - 1e-6);
  }
  for (size_t last = 0; last < uses.size(); ++last) {
    int64_t num_requests = 0, num_tokens = 0;
    for (size_t i = 0; i <= last; ++i) {
      if (uses[i].time <= uses[last].time - 60.0 + 1e-6) continue;
      ++num_requests;
      num_tokens += uses[i].tokens;
    }
    ASSERT_LE(num_requests, kRequests);
    ASSERT_LE(num_tokens, kTokens);
  }
}

}  // namespace
}  // namespace cohort
