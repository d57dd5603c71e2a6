// Retries, deadlines and the circuit breaker, on a virtual clock over a network of a script.
#include "cohort/rewards/http/endpoint.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/rewards/fake_transport.h"

namespace cohort {
namespace {

constexpr const char* kKey = "sk-very-secret-0123456789";

class EndpointTest : public testing::Test {
 protected:
  Endpoint make(EndpointSettings settings) {
    settings.url = "http://host/path";
    return Endpoint(settings, std::make_unique<FakeTransport>(network_), network_.clock);
  }

  /// Answers with each of `replies` in turn, the last one for ever.
  void script(std::vector<HttpReply> replies) {
    network_.answer = [replies, next = size_t{0}](const HttpRequest&) mutable {
      return replies[std::min(next++, replies.size() - 1)];
    };
  }

  std::vector<std::string> header(const std::string& name) const {
    std::vector<std::string> values;
    for (const FakeNetwork::Sent& sent : network_.sent) {
      for (const std::string& line : sent.request.headers) {
        if (line.starts_with(name + ": ")) values.push_back(line.substr(name.size() + 2));
      }
    }
    return values;
  }

  FakeNetwork network_;
};

TEST_F(EndpointTest, OneAttemptWhereItSucceeds) {
  Endpoint endpoint = make({.api_key = kKey});
  script({reply_of(200, "yes")});
  const Endpoint::Answer answer = endpoint.post("id-1", "{}");
  EXPECT_EQ(answer.status, RewardStatus::kOk);
  EXPECT_EQ(answer.body, "yes");
  EXPECT_EQ(answer.reason, "");
  ASSERT_EQ(network_.sent.size(), 1u);
  EXPECT_EQ(network_.sent[0].request.url, "http://host/path");
  EXPECT_EQ(network_.sent[0].request.body, "{}");
  EXPECT_EQ(header("Idempotency-Key"), std::vector<std::string>{"id-1"});
  EXPECT_EQ(header("Authorization"), std::vector<std::string>{std::string("Bearer ") + kKey});
}

TEST_F(EndpointTest, RetriesRepeatTheRequestWithGrowingPauses) {
  Endpoint endpoint = make({.retries = 4, .timeout = seconds_of(100)});
  script({reply_of(500), broken_reply(), reply_of(429), reply_of(408), reply_of(200)});
  EXPECT_EQ(endpoint.post("id-1", "{\"a\":1}").status, RewardStatus::kOk);
  ASSERT_EQ(network_.sent.size(), 5u);
  EXPECT_EQ(header("Idempotency-Key"), std::vector<std::string>(5, "id-1"));
  for (int i = 1; i < 5; ++i) {
    const double pause = network_.sent[i].time - network_.sent[i - 1].time, longest = 0.25 * (1 << (i - 1));
    EXPECT_GE(pause, longest / 2) << i;
    EXPECT_LE(pause, longest) << i;
    EXPECT_EQ(network_.sent[i].request.body, "{\"a\":1}");
    EXPECT_DOUBLE_EQ(network_.sent[i].timeout, 100 - network_.sent[i].time);
  }
}

TEST_F(EndpointTest, AtMostOneMoreAttemptThanRetries) {
  for (int64_t retries : {0, 1, 2, 5}) {
    Endpoint endpoint = make({.retries = retries, .timeout = seconds_of(100)});
    network_.sent.clear();
    script({reply_of(503, "busy")});
    const Endpoint::Answer answer = endpoint.post("id", "{}");
    EXPECT_EQ(answer.status, RewardStatus::kError);
    EXPECT_LE(std::ssize(network_.sent), 1 + retries);
    // With five retries the breaker opens first.
    if (retries < 4) {
      EXPECT_EQ(std::ssize(network_.sent), 1 + retries);
    }
    EXPECT_NE(answer.reason.find("HTTP 503: \"busy\""), std::string::npos) << answer.reason;
  }
}

TEST_F(EndpointTest, WhatNoRetryMendsIsNotRetried) {
  std::vector<HttpReply> replies;
  for (int64_t status : {301, 307, 400, 401, 403, 404, 409, 413, 422}) replies.push_back(reply_of(status));
  replies.push_back(broken_reply(HttpReply::Outcome::kRefused));
  for (const HttpReply& reply : replies) {
    Endpoint endpoint = make({.retries = 5});
    network_.sent.clear();
    script({reply});
    EXPECT_EQ(endpoint.post("id", "{}").status, RewardStatus::kError) << reply.status;
    EXPECT_EQ(network_.sent.size(), 1u) << reply.status;
  }
}

TEST_F(EndpointTest, RetryAfterIsHeeded) {
  Endpoint endpoint = make({.retries = 1, .timeout = seconds_of(100)});
  HttpReply busy = reply_of(429);
  busy.retry_after = std::chrono::seconds(7);
  script({busy, reply_of(200)});
  EXPECT_EQ(endpoint.post("id", "{}").status, RewardStatus::kOk);
  EXPECT_DOUBLE_EQ(network_.sent[1].time, 7.0);
}

TEST_F(EndpointTest, ARetryAfterBeyondTheDeadlineEndsTheCallAtOnce) {
  Endpoint endpoint = make({.retries = 1, .timeout = seconds_of(10)});
  HttpReply busy = reply_of(429);
  busy.retry_after = std::chrono::seconds(11);
  script({busy, reply_of(200)});
  const Endpoint::Answer answer = endpoint.post("id", "{}");
  EXPECT_EQ(answer.status, RewardStatus::kError);
  EXPECT_NE(answer.reason.find("HTTP 429; no time for another attempt within 10 s"), std::string::npos)
      << answer.reason;
  EXPECT_EQ(network_.clock.seconds(), 0.0);
}

TEST_F(EndpointTest, TheDeadlineHoldsOverAllAttempts) {
  Endpoint endpoint = make({.retries = 9, .timeout = seconds_of(10)});
  network_.answer = [&](const HttpRequest&) {
    network_.clock.pass(std::min(3.0, network_.sent.back().timeout));
    return broken_reply(HttpReply::Outcome::kTimeout);
  };
  const Endpoint::Answer answer = endpoint.post("id", "{}");
  EXPECT_EQ(answer.status, RewardStatus::kTimeout);
  EXPECT_LE(network_.clock.seconds(), 10.0);
  EXPECT_EQ(network_.sent.size(), 3u);
}

TEST_F(EndpointTest, AServerThatIsDownCostsSecondsAndNotRowsTimesTheDeadline) {
  Endpoint endpoint = make({.retries = 2, .timeout = seconds_of(60)});
  script({broken_reply()});
  for (int row = 0; row < 10000; ++row)
    EXPECT_EQ(endpoint.post(str("id-", row), "{}").status, RewardStatus::kError);
  EXPECT_LE(network_.clock.seconds(), 3.0);
  EXPECT_LE(network_.sent.size(), 10u);
  EXPECT_EQ(endpoint.post("id", "{}").reason,
            "the server failed several times in a row; it is asked again after a pause");
}

TEST_F(EndpointTest, AServerThatHangsCostsFourDeadlines) {
  Endpoint endpoint = make({.retries = 2, .timeout = seconds_of(10)});
  network_.answer = [&](const HttpRequest&) {
    network_.clock.pass(network_.sent.back().timeout);
    return broken_reply(HttpReply::Outcome::kTimeout);
  };
  for (int row = 0; row < 1000; ++row) endpoint.post(str("id-", row), "{}");
  EXPECT_DOUBLE_EQ(network_.clock.seconds(), 40.0);
}

TEST_F(EndpointTest, AServerThatComesBackIsFound) {
  Endpoint endpoint = make({.retries = 2, .timeout = seconds_of(60)});
  script({broken_reply()});
  for (int row = 0; row < 10; ++row) endpoint.post(str("id-", row), "{}");
  const size_t num_sent = network_.sent.size();
  script({reply_of(200)});
  EXPECT_EQ(endpoint.post("early", "{}").status, RewardStatus::kError);
  EXPECT_EQ(network_.sent.size(), num_sent);
  network_.clock.pass(1.0);
  EXPECT_EQ(endpoint.post("probe", "{}").status, RewardStatus::kOk);
  EXPECT_EQ(endpoint.post("next", "{}").status, RewardStatus::kOk);
}

TEST_F(EndpointTest, AProbeThatThrowsIsAFailureAndNotTheLastOne) {
  Endpoint endpoint = make({.retries = 2, .timeout = seconds_of(60)});
  script({broken_reply()});
  for (int row = 0; row < 10; ++row) endpoint.post(str("id-", row), "{}");
  network_.answer = [](const HttpRequest&) -> HttpReply { throw std::bad_alloc(); };
  network_.clock.pass(1.0);
  EXPECT_THROW(endpoint.post("probe", "{}"), std::bad_alloc);
  script({reply_of(200)});
  network_.clock.pass(30.0);
  EXPECT_EQ(endpoint.post("next probe", "{}").status, RewardStatus::kOk);
}

TEST_F(EndpointTest, RefusalsOfRequestsDoNotOpenTheBreaker) {
  Endpoint endpoint = make({.retries = 0});
  for (int64_t status : {400, 429}) {
    script({reply_of(status)});
    for (int row = 0; row < 20; ++row) {
      network_.clock.pass(1.0);
      EXPECT_EQ(endpoint.post("id", "{}").http_status, status);
    }
  }
}

TEST_F(EndpointTest, TheDeadlineBeginsWithTheTurn) {
  Endpoint endpoint = make({.retries = 0, .timeout = seconds_of(5), .requests_per_minute = 2});
  script({reply_of(200)});
  for (int i = 0; i < 5; ++i) EXPECT_EQ(endpoint.post("id", "{}").status, RewardStatus::kOk);
  std::vector<double> times;
  for (const FakeNetwork::Sent& sent : network_.sent) {
    times.push_back(sent.time);
    EXPECT_DOUBLE_EQ(sent.timeout, 5.0);
  }
  EXPECT_EQ(times, (std::vector<double>{0, 0, 60, 60, 120}));
}

TEST_F(EndpointTest, RetriesCountInTheRateToo) {
  Endpoint endpoint = make({.retries = 3, .timeout = seconds_of(5), .requests_per_minute = 2});
  script({reply_of(500)});
  const Endpoint::Answer answer = endpoint.post("id", "{}");
  EXPECT_EQ(answer.status, RewardStatus::kError);
  EXPECT_EQ(network_.sent.size(), 2u);
  EXPECT_NE(answer.reason.find("rate limit"), std::string::npos) << answer.reason;
  EXPECT_LT(network_.clock.seconds(), 5.0);
}

TEST_F(EndpointTest, TheKeyIsCutOutOfWhatServersSay) {
  Endpoint endpoint = make({.api_key = kKey, .retries = 0});
  const std::string secret = kKey;
  script({reply_of(401, std::string(40, 'x') + secret), reply_of(200, secret + secret)});
  Endpoint::Answer answer = endpoint.post("id", "{}");
  EXPECT_EQ(answer.reason.find("sk-very"), std::string::npos) << answer.reason;
  EXPECT_EQ(answer.body.find("sk-very"), std::string::npos);
  EXPECT_EQ(endpoint.post("id", "{}").body, "[key][key]");
  HttpReply redirect = reply_of(307);
  redirect.location = "http://evil/?" + secret;
  script({redirect});
  answer = endpoint.post("id", "{}");
  EXPECT_NE(answer.reason.find("redirects are not followed"), std::string::npos) << answer.reason;
  EXPECT_EQ(answer.reason.find("sk-very"), std::string::npos) << answer.reason;
}

TEST_F(EndpointTest, IdsAreNoOthers) {
  std::set<std::string> ids;
  for (int i = 0; i < 4; ++i) {
    Endpoint endpoint = make({});
    for (int j = 0; j < 100; ++j) ids.insert(endpoint.next_id());
  }
  EXPECT_EQ(ids.size(), 400u);
}

TEST(Backoff, DiffersBetweenCalls) {
  std::set<int64_t> pauses;
  for (int i = 0; i < 100; ++i) pauses.insert(backoff(str("id-", i), 1).count());
  EXPECT_EQ(pauses.size(), 100u);
  EXPECT_LE(backoff("id", 40), std::chrono::seconds(8));
  EXPECT_GE(backoff("id", 40), std::chrono::seconds(4));
}

}  // namespace
}  // namespace cohort
