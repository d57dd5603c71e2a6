// One POST against servers that do all they can to hold it, to flood it or to lead it astray.
#include "cohort/rewards/http/http_client.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "cohort/core/error.h"
#include "tests/rewards/python_server.h"

namespace cohort {
namespace {

constexpr const char* kBody = R"({"id":"b1","rows":[{"id":"0","completion":"hostile 17"}]})";

class HttpClientTest : public testing::Test {
 protected:
  HttpReply post(const std::string& mode, double timeout_s = 60.0, const std::string& body = kBody) {
    return client_.post({server_.url("/" + mode), {"Idempotency-Key: k"}, body}, seconds_of(timeout_s));
  }

  PythonServer server_{"hostile_server.py"};
  HttpClient client_;
};

TEST_F(HttpClientTest, AnswersOverOneConnection) {
  const std::string body = R"({"id":"b1","rows":[{"id":"0","completion":"score 17"}]})";
  for (int i = 0; i < 5; ++i) {
    const HttpReply reply = post("fair", 60.0, body);
    EXPECT_EQ(reply.outcome, HttpReply::Outcome::kReply) << reply.reason;
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.body, R"({"id": "b1", "rewards": [{"id": "0", "score": 0.17}]})");
  }
  std::set<Json> clients;
  for (const Json& request : server_.requests()) {
    EXPECT_EQ(request["key"], "k");
    clients.insert(request["client"]);
  }
  EXPECT_EQ(clients.size(), 1u);
}

TEST_F(HttpClientTest, LargeBodiesGoWhole) {
  const std::string text = "score 5 " + std::string(3 << 20, 'x');
  const Json row = {{"id", "0"}, {"completion", text}};
  const HttpReply reply = post("fair", 60.0, to_json_text({{"id", "b1"}, {"rows", Json::array({row})}}));
  EXPECT_EQ(reply.status, 200) << reply.reason;
  EXPECT_EQ(server_.requests()[0]["completions"][0], text);
}

TEST_F(HttpClientTest, ADeadlineEndsWhatTricklesAndWhatHangs) {
  for (const char* mode : {"slow", "hang"}) {
    const HttpReply reply = post(mode, 0.5);
    EXPECT_EQ(reply.outcome, HttpReply::Outcome::kTimeout) << mode << reply.reason;
  }
}

TEST_F(HttpClientTest, ConnectionsThatBreakOff) {
  for (const char* mode : {"reset", "hang_up", "truncated", "chunk_cut", "negative_chunk", "garbage"}) {
    const HttpReply reply = post(mode);
    EXPECT_EQ(reply.outcome, HttpReply::Outcome::kBroken) << mode << " " << reply.status;
    EXPECT_FALSE(reply.reason.empty()) << mode;
    EXPECT_TRUE(reply.body.empty()) << mode;
  }
}

TEST_F(HttpClientTest, ABrokenConnectionIsNotTriedAgainBehindTheScenes) {
  // The second request goes over the connection that the first one left open.
  EXPECT_EQ(post("fair", 60.0, R"({"id":"b0","rows":[{"id":"0","completion":"score 17"}]})").status, 200);
  for (const char* mode : {"reset", "hang_up"}) {
    const size_t before = server_.requests().size();
    EXPECT_EQ(post(mode).outcome, HttpReply::Outcome::kBroken);
    EXPECT_EQ(server_.requests().size(), before + 1) << mode;
    EXPECT_EQ(post("fair", 60.0, R"({"id":"b0","rows":[{"id":"0","completion":"score 17"}]})").status, 200);
  }
}

TEST_F(HttpClientTest, FloodsAreRefused) {
  for (const char* mode : {"flood", "header_flood"}) {
    const HttpReply reply = post(mode);
    EXPECT_EQ(reply.outcome, HttpReply::Outcome::kRefused) << mode << reply.reason;
    EXPECT_NE(reply.reason.find("larger"), std::string::npos) << reply.reason;
  }
}

TEST_F(HttpClientTest, RedirectsAreNotFollowed) {
  HttpReply reply = post("redirect");
  EXPECT_EQ(reply.status, 307);
  EXPECT_EQ(reply.location, server_.url("/fair"));
  reply = post("redirect_get");
  EXPECT_EQ(reply.status, 302);
  EXPECT_EQ(reply.location, "http://127.0.0.1:1/private");
  EXPECT_EQ(server_.requests().size(), 2u);
}

TEST_F(HttpClientTest, RetryAfterIsRead) {
  const HttpReply reply = post("busy");
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.retry_after, std::chrono::seconds(1));
  EXPECT_FALSE(post("status500").retry_after);
}

TEST_F(HttpClientTest, SeveralThreadsEachGetTheirOwn) {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 10; ++i) {
        const int score = 10 * thread + i;
        const HttpReply reply =
            post("fair", 60.0, str(R"({"id":"b","rows":[{"id":"0","completion":"score )", score, R"("}]})"));
        EXPECT_EQ(Json::parse(reply.body)["rewards"][0]["score"], score / 100.0);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(HttpClient, NobodyListens) {
  std::string url;
  {
    const PythonServer gone("hostile_server.py");
    url = gone.url("/fair");
  }
  HttpClient client;
  const HttpReply reply = client.post({url, {}, kBody}, seconds_of(60.0));
  EXPECT_EQ(reply.outcome, HttpReply::Outcome::kBroken);
  EXPECT_NE(reply.reason.find("connect"), std::string::npos) << reply.reason;
}

TEST(HttpClient, CertificatesAreChecked) {
  // tls/key.pem guards nothing but this test.
  const PythonServer server("hostile_server.py", "tls");
  const HttpRequest request{server.url("/status400", "https"), {}, kBody};
  HttpReply reply = HttpClient().post(request, seconds_of(60.0));
  EXPECT_EQ(reply.outcome, HttpReply::Outcome::kRefused);
  EXPECT_NE(reply.reason.find("certificate"), std::string::npos) << reply.reason;
  EXPECT_TRUE(server.requests().empty());
  ASSERT_EQ(setenv("SSL_CERT_FILE", COHORT_SOURCE_DIR "/tests/rewards/tls/certificate.pem", 1), 0);
  reply = HttpClient().post(request, seconds_of(60.0));
  unsetenv("SSL_CERT_FILE");
  EXPECT_EQ(reply.status, 400) << reply.reason;
}

TEST(HttpClient, RefusesAddressesThatAreNone) {
  for (const char* url :
       {"", "host", "host:80/path", "ftp://host/x", "file:///etc/passwd", "http://", "https://h ost/"}) {
    EXPECT_NE(
        message_of<ConfigError>([&] { check_http_url(url, "reward r: "); }).find("reward r: `url` must be"),
        std::string::npos)
        << url;
  }
  const std::string message =
      message_of<ConfigError>([] { check_http_url("https://me:sesame@host/x", "reward r: "); });
  EXPECT_EQ(message.find("sesame"), std::string::npos) << message;
  for (const char* url : {"http://127.0.0.1:80/x", "https://host", "http://[::1]:8000/v1?a=b"})
    EXPECT_NO_THROW(check_http_url(url, ""));
}

}  // namespace
}  // namespace cohort
