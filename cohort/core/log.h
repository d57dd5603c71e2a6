// One-line messages to standard error.
#pragma once

#include <string>

#include "libs/common/str.h"

namespace cohort {

/// Writes `prefix` and `message` as one line, whole even when several threads write, above the
/// progress that a terminal shows.
void write_log_line(const char* prefix, const std::string& message);

/// From now on this process says nothing of how it goes on, and puts `prefix` before its warnings: another
/// one does the same and says so.
void log_warnings_alone(const std::string& prefix);

void write_info(const std::string& message);
void write_warning(const std::string& message);

template <typename... Args>
void log_info(const Args&... args) {
  write_info(str(args...));
}

template <typename... Args>
void log_warn(const Args&... args) {
  write_warning(str(args...));
}

}  // namespace cohort
