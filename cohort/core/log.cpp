#include "cohort/core/log.h"

#include <unistd.h>

#include <cstdio>

namespace cohort {
namespace {

/// Of a process that logs warnings alone; set once, before its threads begin.
std::string prefix_of_warnings;

}  // namespace

void log_warnings_alone(const std::string& prefix) { prefix_of_warnings = prefix; }

void write_info(const std::string& message) {
  if (prefix_of_warnings.empty()) write_log_line("", message);
}

void write_warning(const std::string& message) { write_log_line("warning: ", prefix_of_warnings + message); }

void write_log_line(const char* prefix, const std::string& message) {
  // A progress line may stand on the terminal: return to its start and erase it.
  const char* erase = ::isatty(STDERR_FILENO) ? "\r\033[K" : "";
  const std::string line = str(erase, prefix, message, "\n");
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace cohort
