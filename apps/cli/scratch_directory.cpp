#include "apps/cli/scratch_directory.h"

#include <poll.h>
#include <stdlib.h>  // mkdtemp

#include <csignal>

#include "cohort/core/error.h"
#include "libs/common/str.h"

namespace cohort::cli {
namespace {

namespace fs = std::filesystem;

fs::path new_directory(const std::string& prefix) {
  std::error_code failure;
  const fs::path parent = fs::temp_directory_path(failure);
  std::string name = (parent / (prefix + "XXXXXX")).string();
  if (failure || ::mkdtemp(name.data()) == nullptr) {
    const char* place = std::getenv("TMPDIR");
    throw UserError(str(failure && place != nullptr ? place : name,
                        ": the directory can't be made; set TMPDIR to one that can be written to"));
  }
  return name;
}

}  // namespace

ScratchDirectory::ScratchDirectory(const std::string& prefix)
    : path_(new_directory(prefix)),
      interrupts_({SIGINT, SIGTERM}),
      watcher_([this](const std::stop_token& end) { wait_for_signals(end); }) {}

ScratchDirectory::~ScratchDirectory() {
  watcher_.request_stop();
  watcher_.join();
  remove();
}

// While the program goes on, it may add files to what is being removed.
void ScratchDirectory::remove() const {
  constexpr int kTries = 10;
  std::error_code ignored;
  for (int i = 0; i < kTries && fs::exists(path_, ignored); ++i) fs::remove_all(path_, ignored);
}

void ScratchDirectory::wait_for_signals(const std::stop_token& end) {
  constexpr int kInterval = 50;  // milliseconds
  while (!end.stop_requested()) {
    pollfd wait{interrupts_.descriptor(), POLLIN, 0};
    poll(&wait, 1, kInterval);
    if (!interrupts_.take()) continue;
    remove();
    std::signal(Interrupts::last_signal(), SIG_DFL);
    std::raise(Interrupts::last_signal());
  }
}

}  // namespace cohort::cli
