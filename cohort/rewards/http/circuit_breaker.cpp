#include "cohort/rewards/http/circuit_breaker.h"

#include <algorithm>

namespace cohort {

bool CircuitBreaker::refuses(Clock::TimePoint now) const {
  const std::lock_guard lock(mutex_);
  return is_shut_out(now);
}

bool CircuitBreaker::admit(Clock::TimePoint now) {
  const std::lock_guard lock(mutex_);
  if (is_shut_out(now)) return false;
  is_probing_ = is_open_;
  return true;
}

void CircuitBreaker::succeeded() {
  const std::lock_guard lock(mutex_);
  num_failures_ = 0;
  is_open_ = is_probing_ = false;
  pause_ = kFirstPause;
}

void CircuitBreaker::failed(Clock::TimePoint began, Clock::TimePoint now) {
  const std::lock_guard lock(mutex_);
  first_began_ = num_failures_ == 0 ? began : std::min(first_began_, began);
  ++num_failures_;
  if (is_open_) {
    // Requests that were under way when it opened end here as well; only the probe lengthens the pause.
    if (!is_probing_) return;
    is_probing_ = false;
    pause_ = std::min(2 * pause_, kLongestPause);
  } else if (num_failures_ < kNumFailures || now - first_began_ < kMinSpan) {
    return;
  }
  is_open_ = true;
  open_until_ = now + pause_;
}

}  // namespace cohort
