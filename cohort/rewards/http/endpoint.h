// A server that is asked until it answers or a deadline passes: retries, back-off, a circuit breaker, a rate
// limit.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cohort/rewards/http/circuit_breaker.h"
#include "cohort/rewards/http/endpoint_settings.h"
#include "cohort/rewards/http/http_client.h"
#include "cohort/rewards/http/rate_limiter.h"
#include "cohort/rl/types.h"

namespace cohort {

/// Any thread may call.
class Endpoint {
 public:
  explicit Endpoint(EndpointSettings settings, std::unique_ptr<HttpTransport> transport = nullptr,
                    Clock& clock = machine_clock());

  struct Answer {
    RewardStatus status =
        RewardStatus::kError;     ///< kOk: a reply of status 200 to 299; else kTimeout or kError
    std::string reason;           ///< why it is not kOk, in words
    int64_t http_status = 0;      ///< of the last reply; 0 where there was none
    std::string body;             ///< of the last reply
    std::optional<int64_t> turn;  ///< of the rate limit, for `settle`
  };

  /// Posts JSON at most 1 + retries times, always with the same Idempotency-Key. The deadline begins when the
  /// rate limit lets the first attempt out. Neither the body nor the reason of the answer holds the API key.
  Answer post(const std::string& idempotency_key, const std::string& json, int64_t tokens = 0);

  /// An id that no other call, of this process or another, has.
  std::string next_id();

  /// `text` with the API key cut out.
  std::string without_key(std::string text) const;

  /// How many tokens a call took, once the server has told.
  void settle(const Answer& answer, int64_t tokens);

 private:
  struct Attempt {
    HttpReply reply;
    std::optional<std::string> refusal;  // why nothing was sent
  };

  Attempt attempt(const HttpRequest& request, int64_t tokens, std::optional<Clock::TimePoint>& deadline,
                  Answer& answer);
  HttpReply post_once(const HttpRequest& request, Clock::Duration timeout, Clock::TimePoint began);
  void record(HttpReply reply, Answer& answer) const;
  HttpRequest make_request(const std::string& idempotency_key, const std::string& json) const;

  EndpointSettings settings_;
  std::unique_ptr<HttpTransport> transport_;
  Clock& clock_;
  CircuitBreaker breaker_;
  RateLimiter limiter_;
  std::string id_prefix_;
  std::atomic<int64_t> num_ids_ = 0;
};

/// How long to wait before attempt `attempt` (1 is the first retry): 0.25 s doubled each time, at most 8 s,
/// times a factor of 0.5 to 1 that depends on `key`, so that calls that failed together do not come back
/// together.
Clock::Duration backoff(const std::string& key, int64_t attempt);

}  // namespace cohort
