// An answer that is kept instead of sent.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "cohort/core/json.h"
#include "cohort/http/http_server.h"

namespace cohort {

class RecordedAnswer : public HttpAnswer {
 public:
  void set_header(const std::string& name, const std::string& value) override { headers[name] = value; }

  void send(int sent_status, std::string sent_body, const std::string& sent_type) override {
    ++num_sent;
    status = sent_status;
    body = std::move(sent_body);
    content_type = sent_type;
  }

  void write(const std::string& part) override { stream += part; }
  void end_stream() override {}
  void on_close(std::function<void()> function) override { closed = std::move(function); }

  int status = 0, num_sent = 0;
  std::string body{}, content_type{}, stream{};
  std::map<std::string, std::string> headers{};
  std::function<void()> closed{};
};

inline IncomingRequest get_request(const std::string& target, const std::string& host = "127.0.0.1:1") {
  const size_t mark = target.find('?');
  return {.method = "GET",
          .path = target.substr(0, mark),
          .query = mark == std::string::npos ? "" : target.substr(mark + 1),
          .headers = {{"host", host}},
          .body = ""};
}

}  // namespace cohort
