#include "apps/sandboxd/seccomp_filter.h"

#include <asm/ioctls.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cerrno>
#include <memory>
#include <stdexcept>

#include "apps/sandboxd/system.h"

namespace cohort {
namespace {

constexpr const char* kAllowed[] = {
    // files and folders
    "read", "write", "readv", "writev", "pread64", "pwrite64", "preadv", "pwritev", "preadv2", "pwritev2",
    "open", "openat", "openat2", "creat", "close", "close_range", "lseek", "stat", "fstat", "lstat",
    "newfstatat", "statx", "statfs", "fstatfs", "access", "faccessat", "faccessat2", "readlink", "readlinkat",
    "getdents", "getdents64", "getcwd", "chdir", "fchdir", "mkdir", "mkdirat", "rmdir", "rename", "renameat",
    "renameat2", "link", "linkat", "unlink", "unlinkat", "symlink", "symlinkat", "chmod", "fchmod",
    "fchmodat", "chown", "fchown", "lchown", "fchownat", "utime", "utimes", "utimensat", "futimesat",
    "truncate", "ftruncate", "fallocate", "fsync", "fdatasync", "fcntl", "dup", "dup2", "dup3", "pipe",
    "pipe2", "sendfile", "splice", "tee", "copy_file_range", "umask", "fadvise64", "readahead",
    // memory
    "mmap", "munmap", "mremap", "mprotect", "madvise", "brk", "msync", "mincore", "mlock", "munlock",
    "membarrier",
    // processes and threads
    "fork", "vfork", "execve", "exit", "exit_group", "wait4", "waitid", "kill", "tkill", "tgkill", "getpid",
    "getppid", "gettid", "getuid", "geteuid", "getgid", "getegid", "getresuid", "getresgid", "getgroups",
    "getpgid", "getpgrp", "setpgid", "getsid", "setsid", "set_tid_address", "set_robust_list",
    "get_robust_list", "futex", "futex_waitv", "rseq", "sched_yield", "sched_getaffinity", "sched_getparam",
    "sched_getscheduler", "sched_get_priority_max", "sched_get_priority_min", "getpriority", "getrlimit",
    "setrlimit", "getrusage", "times", "arch_prctl", "prctl", "uname", "sysinfo", "getcpu", "getrandom",
    // signals, clocks, waiting
    "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigpending", "rt_sigtimedwait", "rt_sigsuspend",
    "rt_sigqueueinfo", "rt_tgsigqueueinfo", "sigaltstack", "pause", "restart_syscall", "alarm", "getitimer",
    "setitimer", "timer_create", "timer_settime", "timer_gettime", "timer_getoverrun", "timer_delete",
    "timerfd_create", "timerfd_settime", "timerfd_gettime", "clock_gettime", "clock_getres",
    "clock_nanosleep", "nanosleep", "gettimeofday", "time", "eventfd", "eventfd2", "epoll_create",
    "epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait", "epoll_pwait2", "poll", "ppoll", "select",
    "pselect6", "signalfd", "signalfd4",
    // the two ends of a socketpair
    "sendto", "recvfrom", "sendmsg", "recvmsg", "shutdown", "getsockopt", "getsockname", "getpeername"};

constexpr const char* kDeadly[] = {"ptrace",
                                   "process_vm_readv",
                                   "process_vm_writev",
                                   "kcmp",
                                   "pidfd_getfd",
                                   "mount",
                                   "umount2",
                                   "pivot_root",
                                   "chroot",
                                   "open_tree",
                                   "move_mount",
                                   "fsopen",
                                   "fsconfig",
                                   "fsmount",
                                   "fspick",
                                   "mount_setattr",
                                   "unshare",
                                   "setns",
                                   "bpf",
                                   "perf_event_open",
                                   "add_key",
                                   "request_key",
                                   "keyctl",
                                   "userfaultfd",
                                   "init_module",
                                   "finit_module",
                                   "delete_module",
                                   "kexec_load",
                                   "kexec_file_load",
                                   "open_by_handle_at",
                                   "reboot",
                                   "swapon",
                                   "swapoff",
                                   "acct",
                                   "settimeofday",
                                   "clock_settime",
                                   "iopl",
                                   "ioperm"};

constexpr const char* kExtendedAttributes[] = {"getxattr",   "lgetxattr",   "fgetxattr",    "listxattr",
                                               "llistxattr", "flistxattr",  "setxattr",     "lsetxattr",
                                               "fsetxattr",  "removexattr", "lremovexattr", "fremovexattr"};

// Without those that attach a program to a socket.
constexpr int kSocketOptions[] = {SO_SNDBUF, SO_RCVBUF, SO_SNDTIMEO, SO_RCVTIMEO, SO_KEEPALIVE, SO_REUSEADDR};

constexpr unsigned long kTerminalQuestions[] = {TCGETS,  TIOCGWINSZ, TIOCGPGRP, FIONREAD,
                                                FIONBIO, FIOCLEX,    FIONCLEX};

struct ReleaseFilter {
  void operator()(void* filter) const { seccomp_release(filter); }
};
using Filter = std::unique_ptr<void, ReleaseFilter>;

void require(int result, const char* what) {
  if (result < 0) throw std::runtime_error(std::string("libseccomp: ") + what);
}

// A call that this processor or library does not know needs no rule.
template <typename... Comparisons>
void add_rule(const Filter& filter, uint32_t action, const char* name, Comparisons... comparisons) {
  const int call = seccomp_syscall_resolve_name(name);
  if (call == __NR_SCMP_ERROR || call < 0) return;
  require(seccomp_rule_add(filter.get(), action, call, sizeof...(comparisons), comparisons...), name);
}

// Calls that may change another process do so to the caller alone: the first process of a job belongs to the
// same user and must not get the limits or the priority that a program chooses for it.
void add_rules_for_itself(const Filter& filter) {
  const scmp_arg_cmp is_caller{0, SCMP_CMP_EQ, 0, 0};
  add_rule(filter, SCMP_ACT_ALLOW, "prlimit64", is_caller);
  add_rule(filter, SCMP_ACT_ALLOW, "sched_setaffinity", is_caller);
  add_rule(filter, SCMP_ACT_ALLOW, "setpriority", scmp_arg_cmp{0, SCMP_CMP_EQ, PRIO_PROCESS, 0},
           scmp_arg_cmp{1, SCMP_CMP_EQ, 0, 0});
}

void add_rules(const Filter& filter) {
  for (const char* name : kAllowed) add_rule(filter, SCMP_ACT_ALLOW, name);
  for (const char* name : kDeadly) add_rule(filter, SCMP_ACT_KILL_PROCESS, name);
  for (const char* name : kExtendedAttributes) add_rule(filter, SCMP_ACT_ERRNO(ENOTSUP), name);
  add_rule(filter, SCMP_ACT_ERRNO(EACCES), "socket");
  add_rule(filter, SCMP_ACT_ALLOW, "socketpair", scmp_arg_cmp{0, SCMP_CMP_EQ, AF_UNIX, 0});
  for (int option : kSocketOptions) {
    add_rule(filter, SCMP_ACT_ALLOW, "setsockopt", scmp_arg_cmp{1, SCMP_CMP_EQ, SOL_SOCKET, 0},
             scmp_arg_cmp{2, SCMP_CMP_EQ, static_cast<uint64_t>(option), 0});
  }
  add_rules_for_itself(filter);
  constexpr uint64_t kNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                   CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
  add_rule(filter, SCMP_ACT_ALLOW, "clone", scmp_arg_cmp{0, SCMP_CMP_MASKED_EQ, kNamespaces, 0});
  for (unsigned long request : kTerminalQuestions) {
    add_rule(filter, SCMP_ACT_ALLOW, "ioctl", scmp_arg_cmp{1, SCMP_CMP_EQ, request, 0});
  }
}

}  // namespace

std::vector<sock_filter> build_seccomp_filter() {
  const Filter filter(seccomp_init(SCMP_ACT_ERRNO(ENOSYS)));
  if (!filter) throw std::runtime_error("libseccomp: seccomp_init");
  require(seccomp_attr_set(filter.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS), "foreign calls");
  require(seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2), "binary tree");
  add_rules(filter);

  const UniqueFile file(check(memfd_create("filter", MFD_CLOEXEC), "memfd_create"));
  require(seccomp_export_bpf(filter.get(), file.get()), "seccomp_export_bpf");
  const off_t size = check(lseek(file.get(), 0, SEEK_END), "lseek");
  std::vector<sock_filter> program(static_cast<size_t>(size) / sizeof(sock_filter));
  if (pread(file.get(), program.data(), static_cast<size_t>(size), 0) != size) throw_errno("pread");
  return program;
}

bool enter_seccomp(const std::vector<sock_filter>& filter) {
  const sock_fprog program{static_cast<unsigned short>(filter.size()),
                           const_cast<sock_filter*>(filter.data())};
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

}  // namespace cohort
