#include "cohort/rewards/restart_limit.h"

#include <algorithm>

#include "libs/common/str.h"

namespace cohort {
namespace {

constexpr int kMaxUnheard = 4;
constexpr auto kPause = std::chrono::seconds(10);
constexpr auto kFirstDelay = std::chrono::milliseconds(10), kMaxDelay = std::chrono::milliseconds(250);

}  // namespace

RestartLimit::Clock::time_point RestartLimit::next_start(Clock::time_point now) {
  std::lock_guard lock(mutex_);
  if (num_deaths_ < 2) return last_start_ = now;
  const auto delay = std::min(kFirstDelay * (1 << std::min(num_deaths_ - 2, 8)), kMaxDelay);
  return last_start_ = std::max(now, last_start_ + delay);
}

std::optional<std::string> RestartLimit::refusal(Clock::time_point now) const {
  std::lock_guard lock(mutex_);
  if (num_unheard_ < kMaxUnheard || now - last_death_ >= kPause) return std::nullopt;
  return str(reason_, ", ", num_unheard_,
             " times in a row before it read a request; it is not started again for ", kPause.count(), " s");
}

void RestartLimit::record_answer() {
  std::lock_guard lock(mutex_);
  num_deaths_ = num_unheard_ = 0;
}

void RestartLimit::forget() {
  std::lock_guard lock(mutex_);
  num_deaths_ = num_unheard_ = 0;
  last_death_ = last_start_ = Clock::time_point();
}

void RestartLimit::record_death(bool was_heard, const std::string& reason, Clock::time_point now) {
  std::lock_guard lock(mutex_);
  ++num_deaths_;
  last_death_ = now;
  if (was_heard) return;
  ++num_unheard_;
  reason_ = reason;
}

}  // namespace cohort
