// One request of an HTTP server with its answer. Private to http.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cohort/http/http_server.h"

namespace cohort {

namespace net = boost::asio;
using boost::system::error_code;

inline auto await(error_code& error) { return net::redirect_error(net::use_awaitable, error); }

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

/// The session waits for output on the server's thread; the answer comes from
/// any.
class Exchange : public HttpAnswer, public std::enable_shared_from_this<Exchange> {
 public:
  struct Output {
    int status = 200;
    std::string content_type;
    HttpHeaders headers;
    std::string bytes;
    bool is_stream = false;
    bool is_last = false;
  };

  Exchange(net::io_context& io, int64_t max_waiting) : io_(io), wake_(io), max_waiting_(max_waiting) {}

  void set_header(const std::string& name, const std::string& value) override {
    const std::lock_guard lock(mutex_);
    output_.headers.emplace_back(name, value);
  }

  void send(int status, std::string body, const std::string& content_type) override {
    change([&] {
      output_.status = status;
      output_.content_type = content_type;
      output_.bytes = std::move(body);
      output_.is_last = has_output_ = true;
    });
  }

  void write(const std::string& part) override {
    change([&] {
      output_.content_type = "text/event-stream";
      output_.bytes += part;
      output_.is_stream = has_output_ = true;
      if (std::ssize(output_.bytes) > max_waiting_) is_refused_ = true;
    });
  }

  void end_stream() override {
    change([&] { output_.is_last = has_output_ = true; });
  }

  void on_close(std::function<void()> function) override {
    std::unique_lock lock(mutex_);
    if (!is_closed_) {
      on_close_ = std::move(function);
      return;
    }
    lock.unlock();
    net::post(io_, std::move(function));
  }

  // On the server's thread.

  /// The output so far, or nothing once the client has gone.
  net::awaitable<std::optional<Output>> next() {
    while (true) {
      {
        const std::lock_guard lock(mutex_);
        if (is_closed_ || is_refused_) co_return std::nullopt;
        if (has_output_) {
          has_output_ = false;
          Output taken = output_;
          output_.bytes.clear();
          co_return taken;
        }
      }
      error_code ignored;
      wake_.expires_at(net::steady_timer::time_point::max());
      co_await wake_.async_wait(await(ignored));
    }
  }

  bool is_closed() {
    const std::lock_guard lock(mutex_);
    return is_closed_;
  }

  /// The client has gone, or has the whole answer.
  void close(bool is_complete) {
    std::function<void()> function;
    {
      const std::lock_guard lock(mutex_);
      is_closed_ = true;
      if (!is_complete) function = std::move(on_close_);
      on_close_ = nullptr;
    }
    wake_.cancel();
    if (function) function();
  }

 private:
  template <typename F>
  void change(F f) {
    {
      const std::lock_guard lock(mutex_);
      if (is_closed_) return;
      f();
    }
    net::post(io_, [self = shared_from_this()] { self->wake_.cancel(); });
  }

  net::io_context& io_;
  net::steady_timer wake_;
  int64_t max_waiting_;
  std::mutex mutex_;  // of all below
  Output output_;
  bool has_output_ = false, is_closed_ = false, is_refused_ = false;
  std::function<void()> on_close_;
};

}  // namespace cohort
