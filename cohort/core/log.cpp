#include "cohort/core/log.h"

#include "cohort/core/progress.h"
#include "libs/common/visible_text.h"

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
  write_above_progress(visible_text(prefix + message));  // messages quote what rewards and models say
}

}  // namespace cohort
