// A network of a script and a clock of one's own, for tests of what is sent when.
#pragma once

#include <algorithm>
#include <functional>
#include <mutex>
#include <vector>

#include "cohort/rewards/http/http_client.h"

namespace cohort {

/// Sleeping takes no time but the clock's.
class VirtualClock : public Clock {
 public:
  TimePoint now() override {
    const std::lock_guard lock(mutex_);
    return now_;
  }
  void sleep_until(TimePoint time) override {
    const std::lock_guard lock(mutex_);
    now_ = std::max(now_, time);
  }

  /// Seconds since the start.
  double seconds() { return std::chrono::duration<double>(now() - TimePoint{}).count(); }
  void pass(double seconds) { sleep_until(now() + seconds_of(seconds)); }

 private:
  std::mutex mutex_;
  TimePoint now_;
};

inline HttpReply reply_of(int64_t status, const std::string& body = "") {
  HttpReply reply;
  reply.outcome = HttpReply::Outcome::kReply;
  reply.status = status;
  reply.body = body;
  return reply;
}

inline HttpReply broken_reply(HttpReply::Outcome outcome = HttpReply::Outcome::kBroken) {
  HttpReply reply;
  reply.outcome = outcome;
  reply.reason = "no luck";
  return reply;
}

/// What went over a FakeTransport.
struct FakeNetwork {
  struct Sent {
    double time;
    double timeout;
    HttpRequest request;
  };

  VirtualClock clock;
  std::function<HttpReply(const HttpRequest&)> answer;  ///< may let time pass
  std::vector<Sent> sent;
};

class FakeTransport : public HttpTransport {
 public:
  explicit FakeTransport(FakeNetwork& network) : network_(network) {}

  HttpReply post(const HttpRequest& request, Clock::Duration timeout) override {
    network_.sent.push_back(
        {network_.clock.seconds(), std::chrono::duration<double>(timeout).count(), request});
    return network_.answer(request);
  }

 private:
  FakeNetwork& network_;
};

}  // namespace cohort
