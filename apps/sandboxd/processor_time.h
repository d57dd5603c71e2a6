// Processor time of a job that is about to be killed. The kernel charges a process with its children's time
// only when it waits for them, and the end of a process namespace waits for nobody: the time must be read
// before.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace cohort {

/// Microseconds used so far by process `pid`, all below it and all that one of these has waited for, in steps
/// of the kernel's tick (mostly 10 ms). `proc` is the /proc in which `pid` is. What can't be read, because it
/// has just ended or is hidden, counts nothing.
int64_t processor_time_us(int proc, pid_t pid);

}  // namespace cohort
