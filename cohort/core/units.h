// Numbers as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace cohort {

/// "1 h 02 min", "3 min 20 s" or "12 s".
std::string format_duration(double seconds);

/// "12.3 MiB", "800 bytes".
std::string format_bytes(int64_t bytes);

}  // namespace cohort
