// Lists of metrics, and the timings of a step.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "cohort/core/metrics.h"

namespace cohort {

void append(Metrics& metrics, const Metrics& more);

/// The value of a metric, or 0 where it is not there.
double find_metric(const Metrics& metrics, const std::string& name);

/// Seconds between laps, written into a step's timings.
class StepTimer {
 public:
  explicit StepTimer(Metrics& timings) : timings_(timings) {}

  /// Names the time since the last lap; laps of one name add up.
  void lap(const char* name);

  /// Adds timings that were taken elsewhere.
  void add(const Metrics& timings) { append(timings_, timings); }

  /// Adds `step_time`, `timing_s/step` and `perf/*`.
  void finish(int64_t num_tokens);

 private:
  using Clock = std::chrono::steady_clock;
  Metrics& timings_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_ = start_;
};

}  // namespace cohort
