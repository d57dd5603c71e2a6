// Landlock: what a job may do with which path. The constants are ours, since the header of Debian 12 knows
// version 2 of the interface and the kernel may know more.
#pragma once

#include <string>
#include <vector>

namespace cohort {

/// The version of the kernel's interface; 0 where Landlock is not switched on.
int landlock_version();

/// What Landlock grants to a job; paths below `programs` may be read and executed, those below `writable`
/// changed, everything else read.
struct LandlockPaths {
  std::vector<std::string> programs;
  std::vector<std::string> writable;
  std::vector<std::string> devices;  ///< files that are read and written
};

/// Binds the calling process and its children for ever; whether that worked. Wants no_new_privs.
bool enter_landlock(int version, const LandlockPaths& paths);

}  // namespace cohort
