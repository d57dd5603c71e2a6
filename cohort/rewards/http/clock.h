// Time that tests turn by hand.
#pragma once

#include <chrono>

namespace cohort {

/// Never runs backwards. Any thread may call.
class Clock {
 public:
  using Duration = std::chrono::steady_clock::duration;
  using TimePoint = std::chrono::steady_clock::time_point;

  virtual ~Clock() = default;
  virtual TimePoint now() = 0;
  virtual void sleep_until(TimePoint time) = 0;
};

/// The machine's own.
Clock& machine_clock();

/// `seconds` in the clock's unit.
inline Clock::Duration seconds_of(double seconds) {
  return std::chrono::duration_cast<Clock::Duration>(std::chrono::duration<double>(seconds));
}

}  // namespace cohort
