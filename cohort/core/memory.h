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

/// Lets glibc's malloc give blocks of 1 MiB or more back to the system as they are freed. By itself it raises
/// this limit to the largest block freed so far, up to 32 MiB, and keeps what is smaller. Does nothing where
/// another allocator has its place.
void return_large_blocks();

}  // namespace cohort
