// A program that answers one line with one line, over its standard input and output.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

namespace cohort {

/// Runs in a process group of its own; its standard error is ours. One thread at a time.
class ChildProcess {
 public:
  using Clock = std::chrono::steady_clock;

  enum class Status {
    kOk,
    kTimeout,
    kError,  ///< it ended, or broke the protocol; the reply's text says how
  };

  struct Reply {
    Status status;
    std::string text;  ///< the line without its end, or what went wrong
  };

  /// Starts `command` with /bin/sh -c. Throws std::system_error when no process can be made.
  explicit ChildProcess(const std::string& command);

  /// Ends its input, gives it half a second, kills what is left of its process group and reaps it.
  ~ChildProcess();

  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// Whether the program waits for a line: alive, and silent since its last answer.
  bool is_ready() const;

  /// Sends `line` and waits for one line of at most 1 MiB. After anything but kOk the object is only good to
  /// destroy.
  Reply exchange(const std::string& line, Clock::time_point deadline);

 private:
  Reply fail(Status status, std::string text);
  Reply fail_ended();
  int kill_and_reap();

  pid_t pid_ = -1;   // -1: reaped
  int input_ = -1;   // write end of its standard input
  int output_ = -1;  // read end of its standard output
};

}  // namespace cohort
