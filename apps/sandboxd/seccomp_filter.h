// The system calls that a job may make: an allow-list. What no tested program needs and every escape tries
// (ptrace, mount, unshare, bpf, ...) kills the job; all else that is not on the list fails as on a kernel
// without it, so that libraries fall back.
#pragma once

#include <linux/filter.h>

#include <vector>

namespace cohort {

/// The compiled filter. Throws std::runtime_error when libseccomp can't build it.
std::vector<sock_filter> build_seccomp_filter();

/// Binds the calling process and all its children to `filter` for ever; whether that worked. Wants
/// no_new_privs, or CAP_SYS_ADMIN.
bool enter_seccomp(const std::vector<sock_filter>& filter);

}  // namespace cohort
