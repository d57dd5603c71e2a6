// An HTTP/1.1 server of one thread that waits for no client.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace cohort {

struct IncomingRequest {
  std::string method;                          ///< such as "POST"
  std::string path;                            ///< without the query
  std::string query;                           ///< what follows the first '?', as it was sent
  std::map<std::string, std::string> headers;  ///< names in lower case
  std::string body;

  /// The value of a header, empty if there is none. `name` in lower case.
  std::string header(const std::string& name) const;
};

/// The answer to one request: send(), or write() several times and end_stream(). Any thread may call. Calls
/// after the client has gone have no effect.
class HttpAnswer {
 public:
  virtual ~HttpAnswer() = default;

  /// A header of the answer besides its type and length. Call before send() and the first write().
  virtual void set_header(const std::string& name, const std::string& value) = 0;

  /// The body of an answer to HEAD is left out; its length stays.
  virtual void send(int status, std::string body, const std::string& content_type = "application/json") = 0;

  /// A part of a stream of server-sent events, which has status 200.
  virtual void write(const std::string& part) = 0;
  virtual void end_stream() = 0;

  /// Calls `function` on the server's thread if the client goes before the answer is complete.
  virtual void on_close(std::function<void()> function) = 0;
};

/// Answers a request at once or later. Runs on the server's thread, which serves nobody meanwhile.
using HttpHandler = std::function<void(const IncomingRequest& request, std::shared_ptr<HttpAnswer> answer)>;

struct HttpLimits {
  int64_t max_connections = 4096;
  int64_t max_body_bytes = int64_t{16} << 20;
  int64_t max_header_bytes = int64_t{64} << 10;
  int64_t max_waiting_bytes = int64_t{16} << 20;  ///< of an answer that its client does not read
  double request_s = 30.0;                        ///< from a request's first byte to its last
  double idle_s = 75.0;                           ///< between two requests of a connection
  double write_s = 30.0;                          ///< for a client to take what is written
};

class HttpServer {
 public:
  /// Listens at once; `port` 0 takes a free one. Throws ConfigError for an address that cannot be used.
  HttpServer(const std::string& host, int64_t port, HttpLimits limits, HttpHandler handler);

  /// Whoever holds an HttpAnswer must have let go of it.
  ~HttpServer();

  int64_t port() const;

  /// Calls `function` on the server's thread every `seconds` from now on. What it throws is logged.
  void repeat(double seconds, std::function<void()> function);

  /// Closes all connections and calls the handler no more.
  void stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cohort
