#include "cohort/rewards/http/rate_limiter.h"

#include <algorithm>

namespace cohort {
namespace {

constexpr Clock::Duration kWindow = std::chrono::minutes(1);

}  // namespace

int64_t RateLimiter::bounded(int64_t tokens) const {
  return std::clamp<int64_t>(tokens, 0, max_tokens_.value_or(tokens < 0 ? 0 : tokens));
}

std::optional<RateLimiter::Turn> RateLimiter::reserve(int64_t tokens, Clock::TimePoint now,
                                                      Clock::TimePoint latest) {
  const std::lock_guard lock(mutex_);
  tokens = bounded(tokens);
  Clock::TimePoint time = uses_.empty() ? now : std::max(now, uses_.back().time);
  auto num_requests = static_cast<int64_t>(uses_.size());
  int64_t num_tokens = tokens;
  for (const Use& use : uses_) num_tokens += use.tokens;
  // The oldest uses leave the window: those that are a minute old, and as many more as there is no room for.
  int64_t num_past = 0;
  for (const Use& use : uses_) {
    const bool has_room =
        (!max_requests_ || num_requests < *max_requests_) && (!max_tokens_ || num_tokens <= *max_tokens_);
    if (has_room && use.time + kWindow > time) break;
    time = std::max(time, use.time + kWindow);
    --num_requests;
    num_tokens -= use.tokens;
    ++num_past;
  }
  if (time > latest) return std::nullopt;
  uses_.erase(uses_.begin(), uses_.begin() + num_past);
  first_turn_ += num_past;
  uses_.push_back({time, tokens});
  return Turn{first_turn_ + static_cast<int64_t>(uses_.size()) - 1, time};
}

void RateLimiter::settle(int64_t turn, int64_t tokens) {
  const std::lock_guard lock(mutex_);
  if (turn >= first_turn_ && turn - first_turn_ < static_cast<int64_t>(uses_.size()))
    uses_[turn - first_turn_].tokens = bounded(tokens);
}

}  // namespace cohort
