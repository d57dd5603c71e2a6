// Keeps within what a server allows a minute.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

#include "cohort/rewards/http/clock.h"

namespace cohort {

/// Never more than the given numbers of requests and tokens in any 60 seconds, first come first served. It
/// only computes times; the caller waits. Any thread may call.
class RateLimiter {
 public:
  /// An unset limit is none.
  RateLimiter(std::optional<int64_t> requests_per_minute, std::optional<int64_t> tokens_per_minute)
      : max_requests_(requests_per_minute), max_tokens_(tokens_per_minute) {}

  struct Turn {
    int64_t id;
    Clock::TimePoint time;  ///< when the request may leave
  };

  /// The next turn of a request that takes about `tokens`, at `now` or later; nothing, and nothing is taken,
  /// when that would be after `latest`. What takes more than a minute's tokens counts as all of them.
  std::optional<Turn> reserve(int64_t tokens, Clock::TimePoint now,
                              Clock::TimePoint latest = Clock::TimePoint::max());

  /// Sets right how many tokens a turn took, once the server has told.
  void settle(int64_t turn, int64_t tokens);

 private:
  struct Use {
    Clock::TimePoint time;
    int64_t tokens;
  };

  int64_t bounded(int64_t tokens) const;

  std::optional<int64_t> max_requests_;
  std::optional<int64_t> max_tokens_;
  std::mutex mutex_;
  std::deque<Use> uses_;  // in the order of their times; those older than a minute go when the next one comes
  int64_t first_turn_ = 0;  // of uses_
};

}  // namespace cohort
