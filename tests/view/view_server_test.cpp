#include "cohort/view/view_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cohort/core/error.h"
#include "tests/view/run_case.h"

namespace cohort {
namespace {

/// A connection that sends one text and reads what comes.
class Connection {
 public:
  explicit Connection(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    timeval limit{.tv_sec = 10, .tv_usec = 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  ~Connection() { ::close(socket_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void send(const std::string& text) {
    EXPECT_EQ(::send(socket_, text.data(), text.size(), 0), std::ssize(text));
  }

  /// Reads until the text has `end` or the connection ends.
  std::string read_until(const std::string& end) {
    char buffer[4096];
    while (end.empty() || text_.find(end) == std::string::npos) {
      const ssize_t count = ::recv(socket_, buffer, sizeof buffer, 0);
      if (count <= 0) break;
      text_.append(buffer, static_cast<size_t>(count));
    }
    return text_;
  }

 private:
  int socket_;
  std::string text_;
};

int port_of(const std::string& address) { return std::stoi(address.substr(address.rfind(':') + 1)); }

std::string exchange(int port, const std::string& method, const std::string& target) {
  Connection connection(port);
  connection.send(method + " " + target + " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port) +
                  "\r\nConnection: close\r\n\r\n");
  return connection.read_until("");
}

TEST(ViewServer, AnswersOverASocket) {
  const RunCase run;
  const ViewServer server({run.path()}, {});
  ASSERT_TRUE(server.address().starts_with("http://127.0.0.1:")) << server.address();
  const int port = port_of(server.address());
  const std::string answer = exchange(port, "GET", "/api/figures?run=0&name=reward");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
  EXPECT_NE(answer.find("\r\nContent-Type: application/json\r\n"), std::string::npos) << answer;
  EXPECT_NE(answer.find("\r\nX-Content-Type-Options: nosniff\r\n"), std::string::npos) << answer;
  EXPECT_NE(answer.find("\"values\":[0.5,0.5,0.5,1.0,1.0,1.0]"), std::string::npos) << answer;
  EXPECT_TRUE(exchange(port, "GET", "/api/run?run=9").starts_with("HTTP/1.1 400 ")) << "no such run";
  EXPECT_TRUE(exchange(port, "GET", "/%2e%2e/%2e%2e/etc/passwd").starts_with("HTTP/1.1 404 "));
}

TEST(ViewServer, AnswersHeadWithoutABody) {
  const RunCase run;
  const ViewServer server({run.path()}, {});
  const int port = port_of(server.address());
  const std::string whole = exchange(port, "GET", "/api/runs"), head = exchange(port, "HEAD", "/api/runs");
  EXPECT_TRUE(head.ends_with("\r\n\r\n")) << head;
  EXPECT_EQ(head, whole.substr(0, whole.find("\r\n\r\n") + 4));
  EXPECT_GT(whole.size(), head.size());
}

TEST(ViewServer, SendsEventsAsTheRunGoesOn) {
  RunCase run;
  const ViewServer server({run.path()}, {});
  Connection connection(port_of(server.address()));
  connection.send("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const std::string first = connection.read_until("\"step\":6");
  EXPECT_NE(first.find("Content-Type: text/event-stream"), std::string::npos) << first;
  run.add_step(7);
  run.write();
  EXPECT_NE(connection.read_until("\"step\":7").find("\"step\":7"), std::string::npos);
}

TEST(ViewServer, NeedsATokenForOtherMachines) {
  const RunCase run;
  EXPECT_THROW(ViewServer({run.path()}, {.host = "0.0.0.0"}), ConfigError);
  EXPECT_THROW(ViewServer({run.path()}, {.token = "a;b"}), ConfigError);
  const ViewServer server({run.path()}, {.token = "secret"});
  const std::string address = server.address();
  ASSERT_TRUE(address.ends_with("/?token=secret")) << address;
  const int port = port_of(address.substr(0, address.rfind('/')));
  EXPECT_TRUE(exchange(port, "GET", "/api/runs").starts_with("HTTP/1.1 401 "));
  EXPECT_TRUE(exchange(port, "GET", "/api/runs?token=secret").starts_with("HTTP/1.1 200 "));
}

TEST(ViewServer, NamesADirectoryWithoutARun) {
  const TemporaryDirectory directory;
  const std::string message = message_of<ConfigError>([&] { ViewServer({directory.path()}, {}); });
  EXPECT_NE(message.find(directory.path().string()), std::string::npos) << message;
}

}  // namespace
}  // namespace cohort
