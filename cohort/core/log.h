// One-line messages to standard error.
#pragma once

#include <string>

#include "libs/common/str.h"

namespace cohort {

/// Writes `prefix` and `message` as one line, whole even when several threads write. A progress line is
/// cleared first.
void write_log_line(const char* prefix, const std::string& message);

template <typename... Args>
void log_info(const Args&... args) {
  write_log_line("", str(args...));
}

template <typename... Args>
void log_warn(const Args&... args) {
  write_log_line("warning: ", str(args...));
}

}  // namespace cohort
