#include "cohort/train/run/metrics.h"

#include <algorithm>

#include "cohort/core/memory.h"

namespace cohort {

void append(Metrics& metrics, const Metrics& more) {
  metrics.insert(metrics.end(), more.begin(), more.end());
}

double find_metric(const Metrics& metrics, const std::string& name) {
  for (const auto& [key, value] : metrics) {
    if (key == name) return value;
  }
  return 0.0;
}

void StepTimer::lap(const char* name) {
  const Clock::time_point now = Clock::now();
  const double seconds = std::chrono::duration<double>(now - last_).count();
  last_ = now;
  const auto earlier = std::ranges::find(timings_, name, &Metrics::value_type::first);
  if (earlier != timings_.end()) {
    earlier->second += seconds;
  } else {
    timings_.emplace_back(name, seconds);
  }
}

void StepTimer::finish(int64_t num_tokens) {
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  append(timings_, {{"step_time", seconds},
                    {"timing_s/step", seconds},
                    {"perf/total_num_tokens", static_cast<double>(num_tokens)},
                    {"perf/time_per_step", seconds},
                    {"perf/throughput", static_cast<double>(num_tokens) / seconds},
                    {"perf/max_memory_allocated_gb", static_cast<double>(peak_memory_bytes()) / (1 << 30)}});
}

}  // namespace cohort
