// The root file system of all jobs: a tmpfs that holds read-only views of the runtime's paths and nothing
// else of the machine. The launcher itself moves into it, so that a job inherits a mount table in which
// nothing is left to find.
#pragma once

#include <string>
#include <vector>

#include "cohort/rewards/sandbox_protocol.h"

namespace cohort {

/// What holds kBoxFolder and kWorkFolder in the image; /tmp leads to the latter unless the runtime has a
/// /tmp.
constexpr const char* kJobsFolder = "/.cohort";
constexpr const char* kDevices[] = {"/dev/null", "/dev/zero", "/dev/urandom", "/dev/random", "/dev/full"};

/// Absolute, real paths without those inside others, and without those that do not exist: not every machine
/// has all that a language may need.
std::vector<std::string> tidy_paths(const std::vector<std::string>& paths);

/// Replaces the root of the calling process, which must be in a mount namespace of its own, by an image with
/// the `runtime` paths. The machine's /proc stays mounted on /proc for jobs to cover with theirs: only where
/// it is visible may a user namespace mount one. Throws std::system_error.
void enter_image(const std::vector<std::string>& runtime);

}  // namespace cohort
