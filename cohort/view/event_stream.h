// Server-sent events for all pages that are open.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "cohort/http/http_server.h"

namespace cohort {

/// All members are called on the server's thread.
class EventStream {
 public:
  /// Sends `first`, events as `send` makes them, and all that follow. The stream must outlive the answer.
  void add(const std::shared_ptr<HttpAnswer>& answer, const std::string& first);

  /// Sends data to everyone.
  void send(const std::string& data);

  /// Sends a comment, so that proxies and browsers keep the connection.
  void keep_alive();

  /// Lets go of all answers.
  void clear() { listeners_.clear(); }

  size_t size() const { return listeners_.size(); }

  /// `data` as an event.
  static std::string event(const std::string& data);

 private:
  void write(const std::string& bytes);

  std::map<int64_t, std::shared_ptr<HttpAnswer>> listeners_;
  int64_t next_ = 0;
};

}  // namespace cohort
