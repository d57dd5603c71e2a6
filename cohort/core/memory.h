// The machine's memory and this process's share of it.
#pragma once

#include <cstdint>

namespace cohort {

/// Bytes of memory that the machine has.
int64_t physical_memory_bytes();

/// Resident size of this process now, in bytes.
int64_t resident_memory_bytes();

/// Largest resident size of this process so far, in bytes.
int64_t peak_memory_bytes();

}  // namespace cohort
