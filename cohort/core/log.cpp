#include "cohort/core/log.h"

#include <unistd.h>

#include <cstdio>

namespace cohort {

void write_log_line(const char* prefix, const std::string& message) {
  // A progress line may stand on the terminal: return to its start and erase it.
  const char* erase = ::isatty(STDERR_FILENO) ? "\r\033[K" : "";
  const std::string line = str(erase, prefix, message, "\n");
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace cohort
