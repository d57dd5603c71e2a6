// A program that answers one line with one line, over its standard input and output.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "cohort/rewards/spawn.h"

namespace cohort {

/// The program and what it starts run in a process group of their own, which ends with us, however we end: a
/// small shell in the group, the watcher, waits for the end of a pipe that we hold open, and then kills all.
/// Of what leaves the group nothing is known. The program's standard error is ours. One thread at a time.
class ChildProcess {
 public:
  using Clock = std::chrono::steady_clock;

  enum class Status {
    kOk,
    kTimeout,
    kEnded,   ///< it ended, or closed its input or output
    kBroken,  ///< its output is no single line, or came too early
  };

  struct Reply {
    Status status = Status::kOk;
    std::string text{};     ///< the line without its end, or what went wrong
    bool was_heard = true;  ///< false where it ended before it read a byte of the request
  };

  /// Starts a program with its arguments; a single word is a line for /bin/sh, or the name of a file that can
  /// be executed, which may hold blanks. Throws std::system_error.
  explicit ChildProcess(const std::vector<std::string>& command);

  /// Ends its input, gives it half a second from then on, kills what is left of its process group and reaps
  /// it.
  ~ChildProcess();

  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// Whether the program waits for a line: alive, and silent since its last answer.
  bool is_ready() const;

  /// Sends `line` and waits for one line of at most `max_bytes`. After anything but kOk the object is only
  /// good to destroy.
  Reply exchange(const std::string& line, Clock::time_point deadline, size_t max_bytes = 1 << 20);

  /// Tells the program that no more lines come; its half second begins, at the same time for several.
  void end_input();

 private:
  Reply fail(Status status, std::string text);
  Reply fail_ended();
  std::optional<Reply> receive(std::string& received, size_t max_bytes);
  size_t num_unread() const;
  bool ends_by(Clock::time_point deadline) const;
  int kill_and_reap();

  pid_t watcher_ = -1;  // the leader of the group; both are -1 once reaped
  pid_t pid_ = -1;
  OpenFile life_;                                 // what the watcher watches
  OpenFile exit_;                                 // readable when the program has ended
  OpenFile input_;                                // write end of its standard input
  OpenFile output_;                               // read end of its standard output
  size_t num_sent_ = 0;                           // bytes of the present request
  std::optional<Clock::time_point> last_moment_;  // once its input has ended
};

}  // namespace cohort
