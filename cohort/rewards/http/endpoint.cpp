#include "cohort/rewards/http/endpoint.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <random>

#include "libs/common/excerpt.h"
#include "libs/common/hash.h"
#include "libs/common/random.h"

namespace cohort {
namespace {

constexpr std::string_view kHiddenKey = "[key]";

bool is_success(const HttpReply& reply) {
  return reply.outcome == HttpReply::Outcome::kReply && reply.status >= 200 && reply.status < 300;
}

/// Whether the server itself is unwell, and not merely the request or its rate.
bool is_server_down(const HttpReply& reply) {
  return reply.outcome != HttpReply::Outcome::kReply || reply.status >= 500;
}

bool may_retry(const HttpReply& reply) {
  if (reply.outcome == HttpReply::Outcome::kReply)
    return reply.status >= 500 || reply.status == 408 || reply.status == 429;
  return reply.outcome != HttpReply::Outcome::kRefused;
}

std::string describe(const HttpReply& reply) {
  if (reply.outcome != HttpReply::Outcome::kReply) return reply.reason;
  if (!reply.location.empty()) {
    return str("HTTP ", reply.status, ": redirects are not followed (this one leads to ",
               excerpt(reply.location), "); give the final address");
  }
  return reply.body.empty() ? str("HTTP ", reply.status)
                            : str("HTTP ", reply.status, ": ", excerpt(reply.body));
}

double seconds(Clock::Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

Endpoint::Endpoint(EndpointSettings settings, std::unique_ptr<HttpTransport> transport, Clock& clock)
    : settings_(std::move(settings)),
      transport_(transport ? std::move(transport) : std::make_unique<HttpClient>()),
      clock_(clock),
      limiter_(settings_.requests_per_minute, settings_.tokens_per_minute) {
  std::random_device device;
  id_prefix_ = str(std::hex, std::setfill('0'), std::setw(8), device(), std::setw(8), device(), "-");
}

std::string Endpoint::next_id() { return str(id_prefix_, ++num_ids_); }

std::string Endpoint::without_key(std::string text) const {
  const std::string& key = settings_.api_key;
  if (key.empty()) return text;
  for (size_t at = text.find(key); at != std::string::npos; at = text.find(key, at + kHiddenKey.size()))
    text.replace(at, key.size(), kHiddenKey);
  return text;
}

void Endpoint::settle(const Answer& answer, int64_t tokens) {
  if (answer.turn) limiter_.settle(*answer.turn, tokens);
}

HttpRequest Endpoint::make_request(const std::string& idempotency_key, const std::string& json) const {
  HttpRequest request{settings_.url, {"Content-Type: application/json", "Accept: application/json"}, json};
  request.headers.push_back("Idempotency-Key: " + idempotency_key);
  if (!settings_.api_key.empty()) request.headers.push_back("Authorization: Bearer " + settings_.api_key);
  return request;
}

/// Waits for the rate limit's turn, asks the breaker and posts once.
Endpoint::Attempt Endpoint::attempt(const HttpRequest& request, int64_t tokens,
                                    std::optional<Clock::TimePoint>& deadline, Answer& answer) {
  const std::string is_down = "the server failed several times in a row; it is asked again after a pause";
  if (breaker_.refuses(clock_.now())) return {{}, is_down};
  const auto turn = limiter_.reserve(tokens, clock_.now(), deadline.value_or(Clock::TimePoint::max()));
  if (!turn) return {{}, "the rate limit leaves no time for another attempt"};
  answer.turn = turn->id;
  if (turn->time > clock_.now()) clock_.sleep_until(turn->time);
  const Clock::TimePoint began = clock_.now();
  if (!deadline) deadline = began + settings_.timeout;
  if (!breaker_.admit(began)) return {{}, is_down};
  return {post_once(request, *deadline - began, began), std::nullopt};
}

/// Tells the breaker in any case: it waits for nothing else once it has let a probe out.
HttpReply Endpoint::post_once(const HttpRequest& request, Clock::Duration timeout, Clock::TimePoint began) {
  HttpReply reply;
  try {
    reply = transport_->post(request, timeout);
  } catch (...) {
    breaker_.failed(began, clock_.now());
    throw;
  }
  if (is_server_down(reply)) {
    breaker_.failed(began, clock_.now());
  } else {
    breaker_.succeeded();
  }
  return reply;
}

void Endpoint::record(HttpReply reply, Answer& answer) const {
  // Before an excerpt could show a part of the key.
  reply.body = without_key(std::move(reply.body));
  reply.location = without_key(std::move(reply.location));
  answer.http_status = reply.status;
  answer.status = is_success(reply)                               ? RewardStatus::kOk
                  : reply.outcome == HttpReply::Outcome::kTimeout ? RewardStatus::kTimeout
                                                                  : RewardStatus::kError;
  answer.reason = is_success(reply) ? "" : without_key(describe(reply));
  answer.body = std::move(reply.body);
}

Endpoint::Answer Endpoint::post(const std::string& idempotency_key, const std::string& json, int64_t tokens) {
  const HttpRequest request = make_request(idempotency_key, json);
  Answer answer;
  std::optional<Clock::TimePoint> deadline;
  const auto give_up = [&](const std::string& why) {
    answer.reason += (answer.reason.empty() ? "" : "; ") + why;
    return answer;
  };
  for (int64_t i = 1;; ++i) {
    const Attempt made = attempt(request, tokens, deadline, answer);
    if (made.refusal) return give_up(*made.refusal);
    record(made.reply, answer);
    if (is_success(made.reply) || !may_retry(made.reply)) return answer;
    if (i > settings_.retries) return give_up(str("attempt ", i, " of ", i));
    const Clock::Duration pause =
        std::max(backoff(idempotency_key, i), made.reply.retry_after.value_or(seconds_of(0)));
    const Clock::TimePoint next = clock_.now() + pause;
    if (next >= *deadline)
      return give_up(str("no time for another attempt within ", seconds(settings_.timeout), " s"));
    clock_.sleep_until(next);
  }
}

Clock::Duration backoff(const std::string& key, int64_t attempt) {
  constexpr double kFirstS = 0.25, kLongestS = 8.0;
  const double longest = std::min(kLongestS, kFirstS * std::pow(2.0, static_cast<double>(attempt - 1)));
  return seconds_of(longest * (0.5 + 0.5 * random_unit(fnv1a(key), {static_cast<uint64_t>(attempt)})));
}

}  // namespace cohort
