// A directory for work that leaves nothing.
#pragma once

#include <filesystem>
#include <string>
#include <thread>

#include "apps/cli/terminal.h"

namespace cohort::cli {

/// A new directory in that of TMPDIR, which goes with this object. SIGINT and SIGTERM remove it, too, before
/// they end the program. One at a time, and no other Interrupts beside it.
class ScratchDirectory {
 public:
  /// The directory's name begins with `prefix`. Throws UserError if it can't be made.
  explicit ScratchDirectory(const std::string& prefix);
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  void remove() const;
  void wait_for_signals(const std::stop_token& end);

  std::filesystem::path path_;
  Interrupts interrupts_;
  std::jthread watcher_;  // the program's work may take seconds between two looks at a flag
};

}  // namespace cohort::cli
