// One running cohort-sandboxd and the socket to it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cohort/rewards/sandbox_protocol.h"

namespace cohort {

class SandboxProcess {
 public:
  using Clock = std::chrono::steady_clock;

  /// Throws std::system_error when it can't be started.
  SandboxProcess(const std::filesystem::path& program, const std::vector<std::string>& arguments);

  /// Ends it, by force where it does not end by itself; all that it runs ends with it.
  ~SandboxProcess();

  /// Gives up on it: nothing is waited for any more.
  void kill();

  SandboxProcess(const SandboxProcess&) = delete;
  SandboxProcess& operator=(const SandboxProcess&) = delete;

  /// Whether the message could be sent; `files` go with it, for a session.
  bool send(const std::string& message, const std::vector<int>& files = {});

  enum class Status { kWaiting, kComplete, kLost };

  /// Reads what is there; kComplete hands out a whole message.
  Status receive(std::string& message);

  /// Waits for a whole message until `deadline`; nothing when it does not come.
  std::optional<std::string> wait(Clock::time_point deadline);

  int file() const { return socket_; }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  int socket_ = -1;
  std::string received_;
};

}  // namespace cohort
