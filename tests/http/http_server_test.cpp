#include "cohort/http/http_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

namespace cohort {
namespace {

/// The whole answer to a text that is sent to the server.
std::string answer_to(int64_t port, const std::string& text) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  timeval limit{.tv_sec = 10, .tv_usec = 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  EXPECT_EQ(::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(::send(socket, text.data(), text.size(), 0), std::ssize(text));
  std::string answer;
  char buffer[4096];
  for (ssize_t count = 1; count > 0;) {
    count = ::recv(socket, buffer, sizeof buffer, 0);
    if (count > 0) answer.append(buffer, static_cast<size_t>(count));
  }
  ::close(socket);
  return answer;
}

TEST(HttpServer, SeparatesTheQueryFromThePath) {
  HttpServer server("127.0.0.1", 0, {},
                    [](const IncomingRequest& request, const std::shared_ptr<HttpAnswer>& answer) {
                      answer->set_header("X-First", "1");
                      answer->set_header("X-Second", "2");
                      answer->send(200, "[" + request.path + "|" + request.query + "]", "text/plain");
                    });
  const auto get = [&](const std::string& method, const std::string& target) {
    return answer_to(server.port(),
                     method + " " + target + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  };
  const std::string answer = get("GET", "/a?b=%20?c");
  EXPECT_TRUE(answer.ends_with("\r\n\r\n[/a|b=%20?c]")) << answer;
  EXPECT_NE(answer.find("\r\nX-First: 1\r\nX-Second: 2\r\n"), std::string::npos) << answer;
  EXPECT_TRUE(get("GET", "/a?").ends_with("[/a|]"));
  EXPECT_TRUE(get("GET", "/a").ends_with("[/a|]"));
  const std::string head = get("HEAD", "/a?b");
  EXPECT_TRUE(head.ends_with("\r\n\r\n")) << head;
  EXPECT_NE(head.find("Content-Length: 6"), std::string::npos) << head;
}

TEST(HttpServer, AnswersMoreRequestsAfterHead) {
  HttpServer server("127.0.0.1", 0, {},
                    [](const IncomingRequest& request, const std::shared_ptr<HttpAnswer>& answer) {
                      answer->send(200, "body of " + request.path, "text/plain");
                    });
  const std::string answer =
      answer_to(server.port(),
                "HEAD /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(answer.find("body of /1"), std::string::npos) << answer;
  EXPECT_TRUE(answer.ends_with("body of /2")) << answer;
}

TEST(HttpServer, RepeatsATaskOnItsOwnThread) {
  std::atomic<int> count = 0;
  std::atomic<std::thread::id> thread{};
  HttpServer server(
      "127.0.0.1", 0, {}, [&](const IncomingRequest&, const std::shared_ptr<HttpAnswer>& answer) {
        answer->send(200, std::this_thread::get_id() == thread.load() ? "same" : "other", "text/plain");
      });
  server.repeat(0.01, [&] {
    thread = std::this_thread::get_id();
    if (++count == 2) throw std::runtime_error("once");  // the task goes on after an error
  });
  for (int waits = 0; count < 4 && waits < 1000; ++waits)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_GE(count, 4);
  EXPECT_TRUE(
      answer_to(server.port(), "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").ends_with("same"));
  server.stop();
  const int last = count;
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(count, last);
}

}  // namespace
}  // namespace cohort
