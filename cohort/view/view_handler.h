// The answers of the page's server, apart from its socket.
#pragma once

#include <cstdint>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "cohort/http/http_server.h"
#include "cohort/view/event_stream.h"
#include "cohort/view/query.h"
#include "cohort/view/run_view.h"
#include "cohort/view/view_server.h"

namespace cohort {

/// Answers requests; all members are called on the server's thread.
class ViewHandler {
 public:
  /// `host`: where the server listens, which requests may name; `token`: empty if none is asked for. Throws
  /// as RunView.
  ViewHandler(const std::vector<std::filesystem::path>& runs, std::string host, std::string token,
              ReplayFunction replay = {});

  /// Never throws for anything that a request or a run's file holds.
  void handle(const IncomingRequest& request, const std::shared_ptr<HttpAnswer>& answer);

  /// Follows the runs and tells the open pages what changed. Call once a second.
  void follow();

  /// Lets go of all answers; waits for one that is computed.
  void close() {
    events_.clear();
    replaying_ = {};
  }

 private:
  void answer_request(const IncomingRequest& request, const std::shared_ptr<HttpAnswer>& answer);
  bool check_access(const IncomingRequest& request, const Query& query, HttpAnswer& answer) const;
  void send_page(const IncomingRequest& request, HttpAnswer& answer) const;
  Json json_of(const std::string& path, const Query& query);
  Json all_runs(const Query& query) const;
  Json difference(const Query& query);
  void send_replay(const Query& query, const std::shared_ptr<HttpAnswer>& answer);
  RunView& run_of(const Query& query, const char* parameter = "run");
  std::string change_of(size_t run) const;

  std::vector<RunView> runs_;
  std::string host_, token_;
  ReplayFunction replay_;
  EventStream events_;
  int64_t num_ticks_ = 0;
  std::future<void> replaying_;  ///< last: it uses the others
};

}  // namespace cohort
