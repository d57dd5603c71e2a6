// Starts cohort-sandboxd and sees to it that each one holds what the first one held.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cohort/rewards/sandbox_process.h"

namespace cohort {

struct SandboxOptions {
  std::filesystem::path program;     ///< cohort-sandboxd; the one beside our own program if empty
  std::vector<std::string> runtime;  ///< files and folders that programs may read and execute
  std::vector<std::string> waived;   ///< layers that may be missing
  std::vector<std::string> removed;  ///< layers to leave out, for tests
  int64_t num_workers = 0;           ///< jobs at a time; one for each core if 0
  /// Beyond a job's own deadline, which its worker keeps: after this a worker counts as dead.
  double answer_timeout_s = 20.0;
};

class SandboxStarter {
 public:
  explicit SandboxStarter(SandboxOptions options);

  /// Before the run, from one thread. Throws ConfigError when the program cannot be started and when not all
  /// layers hold that are not waived, naming those that are missing and how to mend that.
  std::unique_ptr<SandboxProcess> start_first();

  /// One that is started later must hold the same layers. Any thread may call. Throws ConfigError and
  /// std::system_error.
  std::unique_ptr<SandboxProcess> start() const;

  const SandboxOptions& options() const { return options_; }

  /// FULL or PARTIAL(layers); empty before start_first().
  const std::string& level() const { return level_; }

  /// Whether the memory of a job's processes together is bounded; if not, only that of each.
  bool limits_memory() const { return limits_memory_; }

 private:
  std::unique_ptr<SandboxProcess> start(SandboxGreeting& greeting) const;

  SandboxOptions options_;
  std::string level_;
  bool limits_memory_ = false;
};

}  // namespace cohort
