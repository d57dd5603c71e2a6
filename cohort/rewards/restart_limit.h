// When a program that dies may be started again: at once where it happens now and then, and not in a storm.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <string>

namespace cohort {

/// Counts deaths in a row, over all copies of one program. Any thread may call.
class RestartLimit {
 public:
  using Clock = std::chrono::steady_clock;

  /// The earliest moment for the next start, which is taken by whoever asks: at once until the second death,
  /// then as long after the start before it as 10 ms that double with each death up to 250 ms.
  Clock::time_point next_start(Clock::time_point now);

  /// Why the program is not to be started now, if so: it died four times in a row without reading a request,
  /// the last time less than ten seconds before `now`.
  std::optional<std::string> refusal(Clock::time_point now) const;

  void record_answer();

  /// Forgets all deaths and starts.
  void forget();

  /// `was_heard`: it had read something of a request, so that this may be the request's fault.
  void record_death(bool was_heard, const std::string& reason, Clock::time_point now);

 private:
  mutable std::mutex mutex_;
  int num_deaths_ = 0;
  int num_unheard_ = 0;
  std::string reason_;  // of the last death without a request
  Clock::time_point last_death_, last_start_;
};

}  // namespace cohort
