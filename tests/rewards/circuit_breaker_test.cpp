#include "cohort/rewards/http/circuit_breaker.h"

#include <gtest/gtest.h>

namespace cohort {
namespace {

Clock::TimePoint at(double seconds) { return Clock::TimePoint{} + seconds_of(seconds); }

/// Opens it at 10 s.
void open(CircuitBreaker& breaker) {
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(breaker.admit(at(7.0 + i)));
    breaker.failed(at(7.0 + i), at(7.0 + i));
  }
}

TEST(CircuitBreaker, OpensAfterFourFailuresInARow) {
  CircuitBreaker breaker;
  for (int i = 0; i < 3; ++i) breaker.failed(at(i), at(i));
  EXPECT_TRUE(breaker.admit(at(3)));
  breaker.failed(at(3), at(3));
  EXPECT_TRUE(breaker.refuses(at(3)));
  EXPECT_FALSE(breaker.admit(at(3)));
  EXPECT_FALSE(breaker.admit(at(3.99)));
}

TEST(CircuitBreaker, OneSuccessBeginsTheCountAnew) {
  CircuitBreaker breaker;
  for (int i = 0; i < 30; ++i) {
    breaker.failed(at(i), at(i));
    if (i % 3 == 2) breaker.succeeded();
    EXPECT_TRUE(breaker.admit(at(i)));
  }
}

TEST(CircuitBreaker, FailuresOfOneMomentDoNotOpenIt) {
  CircuitBreaker breaker;
  for (int i = 0; i < 100; ++i) breaker.failed(at(5), at(5.9));
  EXPECT_TRUE(breaker.admit(at(5.9)));
  breaker.failed(at(5.9), at(6.0));  // a second after the first one began
  EXPECT_FALSE(breaker.admit(at(6.0)));
}

TEST(CircuitBreaker, CallsThatHungTogetherOpenIt) {
  CircuitBreaker breaker;
  for (int i = 0; i < 4; ++i) breaker.failed(at(0), at(10));
  EXPECT_FALSE(breaker.admit(at(10)));
}

TEST(CircuitBreaker, OneProbeAfterThePause) {
  CircuitBreaker breaker;
  open(breaker);
  EXPECT_FALSE(breaker.admit(at(10.9)));
  EXPECT_FALSE(breaker.refuses(at(11)));
  EXPECT_TRUE(breaker.admit(at(11)));
  EXPECT_FALSE(breaker.admit(at(11)));
  EXPECT_FALSE(breaker.admit(at(60)));  // as long as the probe is under way
  breaker.succeeded();
  EXPECT_TRUE(breaker.admit(at(60)));
  EXPECT_TRUE(breaker.admit(at(60)));
}

TEST(CircuitBreaker, PausesGrowTwofoldUpToThirtySeconds) {
  CircuitBreaker breaker;
  open(breaker);
  double time = 10.0;
  for (double pause : {1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0}) {
    EXPECT_FALSE(breaker.admit(at(time + pause - 0.01))) << pause;
    time += pause;
    EXPECT_TRUE(breaker.admit(at(time))) << pause;
    breaker.failed(at(time), at(time));
  }
  ASSERT_TRUE(breaker.admit(at(1000)));
  breaker.succeeded();
  open(breaker);
  EXPECT_TRUE(breaker.admit(at(11)));  // short again
}

TEST(CircuitBreaker, StragglersLeaveThePauseAlone) {
  CircuitBreaker breaker;
  open(breaker);
  for (int i = 0; i < 8; ++i) breaker.failed(at(9), at(10.5));
  EXPECT_TRUE(breaker.admit(at(11)));
}

}  // namespace
}  // namespace cohort
