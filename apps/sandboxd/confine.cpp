#include "apps/sandboxd/confine.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/securebits.h>
#include <sched.h>
#include <signal.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>

#include "apps/sandboxd/image.h"
#include "apps/sandboxd/landlock.h"
#include "apps/sandboxd/seccomp_filter.h"
#include "apps/sandboxd/system.h"

namespace cohort {
namespace {

constexpr int kFirstInherited = 3;
constexpr rlim_t kOpenFiles = 256;
constexpr rlim_t kStack = 8 << 20, kLargestStack = 64 << 20;

void connect_files(const JobFiles& files) {
  check(dup2(files.input, STDIN_FILENO), "dup2");
  check(dup2(files.output, STDOUT_FILENO), "dup2");
  check(dup2(files.error, STDERR_FILENO), "dup2");
  check(syscall(SYS_close_range, kFirstInherited, ~0U, CLOSE_RANGE_CLOEXEC), "close_range");
}

void reset_signals() {
  for (int number = 1; number < NSIG; ++number) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Where we were started under a lower limit ourselves, that one stays: nobody here may raise it.
void set_limit(__rlimit_resource resource, int64_t soft, int64_t hard) {
  rlimit limit{};
  check(getrlimit(resource, &limit), "getrlimit");
  limit.rlim_max = std::min(limit.rlim_max, static_cast<rlim_t>(hard));
  limit.rlim_cur = std::min(limit.rlim_max, static_cast<rlim_t>(soft));
  check(setrlimit(resource, &limit), "setrlimit");
}

int64_t num_cores() {
  cpu_set_t cores;
  constexpr int64_t kMany = CPU_SETSIZE;  // more than a set holds
  return sched_getaffinity(0, sizeof(cores), &cores) == 0 ? CPU_COUNT(&cores) : kMany;
}

void set_limits(const Cell& cell, const SandboxLimits& limits) {
  if (cell.layers.has(Layer::kProcesses)) {
    const int64_t count = limits.num_processes + 1;  // process 1 belongs to the same user
    set_limit(RLIMIT_NPROC, count, count);
  }
  if (!cell.layers.has(Layer::kLimits)) return;
  // Threads of one process share it: on several cores they use more than the wall time.
  const int64_t cpu_s = (limits.wall_ms / 1000 + 2) * num_cores();
  set_limit(RLIMIT_CPU, cpu_s, cpu_s);
  set_limit(RLIMIT_AS, address_space(cell, limits), address_space(cell, limits));
  set_limit(RLIMIT_FSIZE, limits.file_bytes, limits.file_bytes);
  set_limit(RLIMIT_NOFILE, kOpenFiles, kOpenFiles);
  set_limit(RLIMIT_STACK, kStack, kLargestStack);
  // With 0 the kernel would still start the program that a machine has for core dumps; with 1 it does not.
  set_limit(RLIMIT_CORE, 1, 1);
  for (__rlimit_resource none : {RLIMIT_MSGQUEUE, RLIMIT_MEMLOCK, RLIMIT_NICE, RLIMIT_RTPRIO}) {
    set_limit(none, 0, 0);
  }
}

// Empties all sets, and sees to it that no program gives anything back.
void drop_capabilities(const Cell& cell) {
  check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "PR_SET_NO_NEW_PRIVS");
  if (!cell.layers.has(Layer::kCapabilities)) return;
  check(prctl(PR_SET_SECUREBITS, SECURE_ALL_BITS | SECURE_ALL_LOCKS, 0, 0, 0), "PR_SET_SECUREBITS");
  for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; ++capability) {
    check(prctl(PR_CAPBSET_DROP, capability, 0, 0, 0), "PR_CAPBSET_DROP");
  }
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[2] = {};
  check(syscall(SYS_capset, &header, none), "capset");
}

void enter_filters(const Cell& cell, const SandboxJob& job) {
  if (cell.layers.has(Layer::kLandlock)) {
    LandlockPaths paths{cell.runtime, {kWorkFolder}, {std::begin(kDevices), std::end(kDevices)}};
    for (const SandboxFile& file : job.files) {
      if (file.is_program) paths.programs.push_back(std::string(kBoxFolder) + "/" + file.name);
    }
    if (!enter_landlock(cell.landlock_version, paths)) throw_errno("Landlock");
  }
  if (cell.layers.has(Layer::kSeccomp) && !enter_seccomp(cell.filter)) throw_errno("seccomp");
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

void confine(const Cell& cell, const SandboxJob& job, const JobFiles& files) {
  connect_files(files);
  reset_signals();
  umask(022);
  setsid();
  check(chdir(kWorkFolder), "chdir");
  set_limits(cell, job.limits);
  // A session's output is what a policy reads: the addresses in it should be the same in each run. Nothing in
  // here depends on their being unknown.
  if (job.is_session) check(personality(ADDR_NO_RANDOMIZE), "personality");
  drop_capabilities(cell);
  enter_filters(cell, job);
}

}  // namespace

void run_program(const Cell& cell, const SandboxJob& job, const Escape& escape, const JobFiles& files,
                 int failures) {
  // Built before the limits bind.
  const std::vector<char*> command = pointers(job.command), environment = pointers(job.environment);
  try {
    confine(cell, job, files);
    ProgramStart start;
    start.time_ns = steady_time_ns();
    if (!write_all(files.report, {reinterpret_cast<const char*>(&start), sizeof(start)}))
      throw_errno("report");
    if (escape) {
      close(failures);
      _exit(escape());
    }
    execve(command[0], command.data(), environment.data());
    // A program that the job brings along may be none: that is its own fault, as with a shell.
    constexpr int kCannotExecute = 126;
    if (job.command[0].starts_with(kBoxFolder)) _exit(kCannotExecute);
    throw_errno(job.command[0]);
  } catch (const std::system_error& error) {
    const JobReport report = report_failure(error);
    write_all(failures, {reinterpret_cast<const char*>(&report), sizeof(report)});
  }
  constexpr int kCannotStart = 127;
  _exit(kCannotStart);
}

}  // namespace cohort
