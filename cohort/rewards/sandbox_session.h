// Programs in the sandbox that answer one request after another and keep their state in between.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cohort/rewards/sandbox_starter.h"
#include "cohort/rewards/spawn.h"

namespace cohort {

class SandboxSessions;

/// A running program. It reads requests, each ended by a NUL byte, from its standard input, and answers each
/// with one line on its standard output, which is the same socket; all that it prints goes to its standard
/// error. When it is ready it says "ready". One thread at a time.
class SandboxSession {
 public:
  using Clock = SandboxProcess::Clock;

  enum class Status {
    kOk,
    kTimeout,
    kOutputLimit,  ///< it printed more than the job's `output_bytes`
    kEnded,        ///< the program ended; `line` says how, in words
    kBroken,       ///< it answered what was not asked
    kFailure,      ///< the sandbox failed; `line` says how
  };

  struct Answer {
    Status status = Status::kOk;
    std::string line{};    ///< without its end
    std::string output{};  ///< all that was printed since the last answer, in any bytes
  };

  /// Kills the program, which takes its file system along.
  ~SandboxSession();

  SandboxSession(const SandboxSession&) = delete;
  SandboxSession& operator=(const SandboxSession&) = delete;

  /// Tells the program to end, which the destructor waits for: several then end at the same time.
  void hang_up();

  /// `request` has no NUL byte. After anything but kOk the object is only good to destroy.
  Answer exchange(const std::string& request, Clock::time_point deadline);

 private:
  friend class SandboxSessions;

  SandboxSession(SandboxSessions& sessions, std::unique_ptr<SandboxProcess> process, SandboxLimits limits,
                 OpenFile channel, OpenFile output);

  Answer wait_for_answer(std::string_view unsent, Clock::time_point deadline);
  bool wait(bool wants_to_send, Clock::time_point deadline);
  void send_some(std::string_view& unsent);
  void read_line();
  bool read_output();
  std::optional<Answer> read_outcome();

  SandboxSessions& sessions_;
  std::unique_ptr<SandboxProcess> process_;
  SandboxLimits limits_;
  OpenFile channel_, output_;
  std::string line_, printed_;
  bool has_ended_ = false;  // the process is free for the next session
};

/// Starts sessions, each in a cohort-sandboxd of its own, which then serves later ones. Any thread may call.
class SandboxSessions {
 public:
  /// Starts the first one. Throws ConfigError as SandboxStarter::start_first does.
  explicit SandboxSessions(SandboxOptions options);

  /// A session that is ready; null if the sandbox fails three times, and then `failure` says why. `job` needs
  /// no is_session. Its wall time bounds the whole session.
  std::unique_ptr<SandboxSession> start(SandboxJob job, std::string& failure);

  bool limits_memory() const { return starter_.limits_memory(); }

 private:
  friend class SandboxSession;

  std::unique_ptr<SandboxSession> try_start(const SandboxJob& job, std::string& failure);
  std::unique_ptr<SandboxProcess> take();
  void give_back(std::unique_ptr<SandboxProcess> process);

  SandboxStarter starter_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<SandboxProcess>> idle_;
};

}  // namespace cohort
