// Several copies of one program that answer requests; what dies, hangs or talks nonsense is replaced.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cohort/rewards/child_process.h"
#include "cohort/rewards/restart_limit.h"

namespace cohort {

/// Copies are started when they are needed, as many as there are calls at a time. Any thread may call.
class WorkerPool {
 public:
  /// `command` is as for ChildProcess.
  WorkerPool(std::vector<std::string> command, double timeout_s)
      : command_(std::move(command)), timeout_s_(timeout_s) {}

  /// Ends all copies, at the same time.
  ~WorkerPool();

  /// The line that answers `request`, or what went wrong. Where the copy dies it is sent once more, to a new
  /// one, with the same time to answer. A copy whose line is not `is_answer` has lost its place and is
  /// replaced.
  ChildProcess::Reply ask(const std::string& request,
                          const std::function<bool(const std::string& line)>& is_answer);

  /// Ends all copies and forgets their deaths. No call may be under way.
  void restart();

 private:
  ChildProcess::Reply ask_once(const std::string& request,
                               const std::function<bool(const std::string& line)>& is_answer);
  std::unique_ptr<ChildProcess> take_idle();

  std::vector<std::string> command_;
  double timeout_s_;
  RestartLimit restarts_;
  std::mutex mutex_;  // guards idle_
  std::vector<std::unique_ptr<ChildProcess>> idle_;
};

}  // namespace cohort
