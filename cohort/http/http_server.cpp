#include "cohort/http/http_server.h"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "cohort/core/error.h"
#include "cohort/core/log.h"
#include "cohort/http/error_json.h"
#include "cohort/http/exchange.h"
#include "libs/common/ascii.h"

namespace cohort {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;
using net::ip::tcp;

std::chrono::nanoseconds seconds(double s) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(s));
}

/// Status and message for a request that cannot be read; nothing if its client has gone.
std::optional<std::pair<int, std::string>> refusal_of(error_code error, const HttpLimits& limits) {
  if (error == http::error::body_limit)
    return {{413, str("the body has more than ", limits.max_body_bytes, " bytes")}};
  if (error == http::error::header_limit)
    return {{431, str("the header has more than ", limits.max_header_bytes, " bytes")}};
  if (error == beast::error::timeout)
    return {{408, str("the request took more than ", limits.request_s, " s to arrive")}};
  if (error == http::error::end_of_stream || error == http::error::partial_message) return std::nullopt;
  if (error.category() == http::make_error_code(http::error::bad_method).category())
    return {{400, str("the request is no HTTP: ", error.message())}};
  return std::nullopt;
}

using Parser = http::request_parser<http::string_body>;

IncomingRequest to_request(http::request<http::string_body> message) {
  IncomingRequest request;
  request.method = std::string(message.method_string());
  const std::string target(message.target());
  const size_t mark = target.find('?');
  request.path = target.substr(0, mark);
  if (mark != std::string::npos) request.query = target.substr(mark + 1);
  for (const auto& field : message)
    request.headers[lower_case(std::string(field.name_string()))] = std::string(field.value());
  request.body = std::move(message.body());
  return request;
}

}  // namespace

std::string IncomingRequest::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string() : found->second;
}

class HttpServer::Impl {
 public:
  Impl(const std::string& host, int64_t port, HttpLimits limits, HttpHandler handler)
      : limits_(limits), handler_(std::move(handler)), acceptor_(io_) {
    raise_file_limit();
    listen(host, port);
    net::co_spawn(io_, accept(), net::detached);
    thread_ = std::thread([this] { io_.run(); });
  }

  ~Impl() { stop(); }

  void stop() {
    io_.stop();
    if (thread_.joinable()) thread_.join();
  }

  int64_t port() const { return acceptor_.local_endpoint().port(); }

  void repeat(double period_s, std::function<void()> function) {
    net::co_spawn(io_, repeat_forever(seconds(period_s), std::move(function)), net::detached);
  }

 private:
  /// Each connection is an open file.
  void raise_file_limit() {
    rlimit files{};
    const auto wanted = static_cast<rlim_t>(limits_.max_connections + 256);
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= wanted) return;
    files.rlim_cur = std::min(wanted, files.rlim_max);
    setrlimit(RLIMIT_NOFILE, &files);
    limits_.max_connections =
        std::min(limits_.max_connections, std::max<int64_t>(16, static_cast<int64_t>(files.rlim_cur) - 128));
  }

  void listen(const std::string& host, int64_t port) {
    try {
      const auto address = net::ip::make_address(host == "localhost" ? "127.0.0.1" : host);
      const tcp::endpoint endpoint(address, static_cast<uint16_t>(port));
      acceptor_.open(endpoint.protocol());
      acceptor_.set_option(tcp::acceptor::reuse_address(true));
      acceptor_.bind(endpoint);
      acceptor_.listen(1024);
    } catch (const boost::system::system_error& error) {
      throw ConfigError(str("cannot listen at ", host, " port ", port, ": ", error.code().message(),
                            "; choose another host or port"));
    }
  }

  net::awaitable<void> repeat_forever(std::chrono::nanoseconds period, std::function<void()> function) {
    net::steady_timer timer(io_);
    while (true) {
      error_code ignored;
      timer.expires_after(period);
      co_await timer.async_wait(await(ignored));
      try {
        function();
      } catch (const std::exception& fault) {
        log_warn("a repeated task of the server failed: ", fault.what());
      }
    }
  }

  net::awaitable<void> accept() {
    while (true) {
      error_code error;
      tcp::socket socket = co_await acceptor_.async_accept(await(error));
      if (error) {  // no file is free; a connection that ends frees one
        net::steady_timer pause(io_, std::chrono::milliseconds(50));
        co_await pause.async_wait(await(error));
        continue;
      }
      net::co_spawn(io_, serve(std::move(socket)), net::detached);
    }
  }

  net::awaitable<void> serve(tcp::socket socket) {
    struct Count {
      explicit Count(int64_t& n) : n(n) { ++n; }
      ~Count() { --n; }
      Count(const Count&) = delete;
      Count& operator=(const Count&) = delete;
      int64_t& n;
    };
    const Count count(num_connections_);
    error_code error;
    socket.set_option(tcp::no_delay(true), error);
    beast::tcp_stream stream(std::move(socket));
    if (num_connections_ > limits_.max_connections) {
      co_await refuse(stream, 503, "the server has too many connections; try again later");
      co_return;
    }
    beast::flat_buffer buffer;
    while (co_await serve_one(stream, buffer)) {
    }
    stream.socket().shutdown(tcp::socket::shutdown_both, error);
  }

  /// Whether the connection stays open.
  net::awaitable<bool> serve_one(beast::tcp_stream& stream, beast::flat_buffer& buffer) {
    error_code error;
    if (buffer.size() == 0) {  // waits for the first byte
      stream.expires_after(seconds(limits_.idle_s));
      const size_t count = co_await stream.async_read_some(buffer.prepare(4096), await(error));
      if (error) co_return false;
      buffer.commit(count);
    }
    Parser parser;
    parser.header_limit(static_cast<uint32_t>(limits_.max_header_bytes));
    parser.body_limit(static_cast<uint64_t>(limits_.max_body_bytes));
    stream.expires_after(seconds(limits_.request_s));
    co_await http::async_read_header(stream, buffer, parser, await(error));
    if (!error && beast::iequals(parser.get()[http::field::expect], "100-continue")) {
      http::response<http::empty_body> go_on{http::status::continue_, 11};
      co_await http::async_write(stream, go_on, await(error));
    }
    if (!error) co_await http::async_read(stream, buffer, parser, await(error));
    if (error) {
      if (const auto refusal = refusal_of(error, limits_))
        co_await refuse(stream, refusal->first, refusal->second);
      co_return false;
    }
    const bool keeps_open = parser.get().keep_alive();
    const Form form{parser.get().version(), keeps_open, parser.get().method() == http::verb::head};
    const auto exchange = std::make_shared<Exchange>(io_, limits_.max_waiting_bytes);
    watch(stream, exchange);
    handle(to_request(parser.release()), exchange);
    const bool is_complete = co_await answer(stream, *exchange, form);
    exchange->close(is_complete);
    co_return (is_complete && keeps_open);
  }

  void handle(const IncomingRequest& request, const std::shared_ptr<Exchange>& exchange) {
    try {
      handler_(request, exchange);
    } catch (const std::exception& fault) {
      log_warn(request.method, " ", request.path, " failed: ", fault.what());
      exchange->send(
          500, to_json_text(error_json(request.path, "the server failed to answer; its log says why", 500)),
          "application/json");
    }
  }

  /// Notices that the client has gone while it waits for its answer. One that has closed its own side is
  /// taken for gone, too.
  static void watch(beast::tcp_stream& stream, const std::shared_ptr<Exchange>& exchange) {
    tcp::socket& socket = stream.socket();
    socket.async_wait(tcp::socket::wait_read, [&socket, weak = std::weak_ptr(exchange)](error_code error) {
      const auto waiting = weak.lock();
      if (waiting == nullptr || waiting->is_closed()) return;  // the socket may be gone
      char byte = 0;
      if (!error) {
        socket.non_blocking(true, error);
        const size_t count = socket.receive(net::buffer(&byte, 1), net::socket_base::message_peek, error);
        if (count > 0 || error == net::error::would_block) return;  // the next request
      }
      waiting->close(false);
    });
  }

  /// What of a request decides the form of its answer.
  struct Form {
    unsigned version;  ///< of HTTP: 10 or 11
    bool keeps_open;
    bool is_head;
  };

  net::awaitable<bool> answer(beast::tcp_stream& stream, Exchange& exchange, Form form) {
    auto output = co_await exchange.next();
    if (!output) co_return false;
    if (output->is_stream) co_return co_await answer_stream(stream, exchange, *std::move(output), form);
    error_code error;
    stream.expires_after(seconds(limits_.write_s));
    http::response<http::string_body> response{static_cast<http::status>(output->status), form.version};
    response.set(http::field::content_type, output->content_type);
    for (const auto& [name, value] : output->headers) response.insert(name, value);
    response.keep_alive(form.keeps_open);
    response.body() = std::move(output->bytes);
    response.prepare_payload();
    if (form.is_head) {
      http::response_serializer<http::string_body> serializer(response);
      co_await http::async_write_header(stream, serializer, await(error));
    } else {
      co_await http::async_write(stream, response, await(error));
    }
    co_return !error;
  }

  net::awaitable<bool> answer_stream(beast::tcp_stream& stream, Exchange& exchange,
                                     std::optional<Exchange::Output> output, Form form) {
    error_code error;
    stream.expires_after(seconds(limits_.write_s));
    const bool is_chunked = form.version >= 11;
    http::response<http::empty_body> head{http::status::ok, form.version};
    head.set(http::field::content_type, output->content_type);
    head.set(http::field::cache_control, "no-cache");
    for (const auto& [name, value] : output->headers) head.insert(name, value);
    head.chunked(is_chunked);
    head.keep_alive(form.keeps_open && is_chunked);
    http::response_serializer<http::empty_body> serializer(head);
    co_await http::async_write_header(stream, serializer, await(error));
    while (!error) {
      stream.expires_after(seconds(limits_.write_s));
      const net::const_buffer bytes = net::buffer(output->bytes);
      if (!output->bytes.empty() && is_chunked) {
        co_await net::async_write(stream, http::make_chunk(bytes), await(error));
      } else if (!output->bytes.empty()) {
        co_await net::async_write(stream, bytes, await(error));
      }
      if (error || output->is_last) break;
      output = co_await exchange.next();
      if (!output) co_return false;
    }
    if (!error && is_chunked) co_await net::async_write(stream, http::make_chunk_last(), await(error));
    co_return (!error && is_chunked);
  }

  net::awaitable<void> refuse(beast::tcp_stream& stream, int status, std::string message) {
    http::response<http::string_body> response{static_cast<http::status>(status), 11};
    response.set(http::field::content_type, "application/json");
    response.keep_alive(false);
    response.body() = to_json_text(error_json("", message, status));
    response.prepare_payload();
    error_code error;
    stream.expires_after(seconds(limits_.write_s));
    co_await http::async_write(stream, response, await(error));
    // Unread bytes of the client would reset the connection before it has read this answer.
    stream.socket().shutdown(tcp::socket::shutdown_send, error);
    std::array<char, 4096> rest{};
    stream.expires_after(std::chrono::seconds(1));
    for (int i = 0; i < 256 && !error; ++i) co_await stream.async_read_some(net::buffer(rest), await(error));
  }

  HttpLimits limits_;
  HttpHandler handler_;
  net::io_context io_{1};
  tcp::acceptor acceptor_;
  int64_t num_connections_ = 0;
  std::thread thread_;
};

HttpServer::HttpServer(const std::string& host, int64_t port, HttpLimits limits, HttpHandler handler)
    : impl_(std::make_unique<Impl>(host, port, limits, std::move(handler))) {}

HttpServer::~HttpServer() = default;

int64_t HttpServer::port() const { return impl_->port(); }

void HttpServer::repeat(double seconds, std::function<void()> function) {
  impl_->repeat(seconds, std::move(function));
}

void HttpServer::stop() { impl_->stop(); }

}  // namespace cohort
