// Spares the time that calls to a server that is down would cost.
#pragma once

#include <mutex>

#include "cohort/rewards/http/clock.h"

namespace cohort {

/// Opens after four failures in a row that took a second or more from the first one's start to the last one's
/// end. While it is open no request goes out. After a pause, of 1 second at first and twice as long each time
/// up to 30, one request goes out as a probe: success closes the breaker, failure begins the next pause. Any
/// thread may call.
class CircuitBreaker {
 public:
  static constexpr int kNumFailures = 4;
  static constexpr Clock::Duration kMinSpan = std::chrono::seconds(1);
  static constexpr Clock::Duration kFirstPause = std::chrono::seconds(1);
  static constexpr Clock::Duration kLongestPause = std::chrono::seconds(30);

  /// Whether `admit` would refuse.
  bool refuses(Clock::TimePoint now) const;

  /// Whether a request may go out. Whoever is let out must tell `succeeded` or `failed`.
  bool admit(Clock::TimePoint now);

  void succeeded();
  void failed(Clock::TimePoint began, Clock::TimePoint now);

 private:
  bool is_shut_out(Clock::TimePoint now) const { return is_open_ && (is_probing_ || now < open_until_); }

  mutable std::mutex mutex_;
  int num_failures_ = 0;  // in a row
  Clock::TimePoint first_began_;
  bool is_open_ = false;
  bool is_probing_ = false;
  Clock::TimePoint open_until_;
  Clock::Duration pause_ = kFirstPause;
};

}  // namespace cohort
