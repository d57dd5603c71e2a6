#include "apps/sandboxd/job.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "apps/sandboxd/confine.h"
#include "apps/sandboxd/image.h"
#include "apps/sandboxd/system.h"

namespace cohort {
namespace {

constexpr int kMaxFiles = 4096;  // that a job may have in /work
constexpr int64_t kPage = 4096;

// Waits until the launcher has written our user ids. No launcher, no job.
void await_launcher(const JobFiles& files) {
  char byte = 0;
  if (read(files.go, &byte, 1) != 1) _exit(1);
}

void become_user(const JobFiles& files) {
  check(setresgid(kInnerUser, kInnerUser, kInnerUser), "setresgid");
  check(setresuid(kInnerUser, kInnerUser, kInnerUser), "setresuid");
  check(prctl(PR_SET_DUMPABLE, 0), "PR_SET_DUMPABLE");
  // After the change of user, which takes it back. A launcher that died before is seen in its pipe.
  check(prctl(PR_SET_PDEATHSIG, SIGKILL), "PR_SET_PDEATHSIG");
  pollfd launcher{files.go, POLLIN, 0};
  if (poll(&launcher, 1, 0) != 0) _exit(1);
  setsid();
}

void mount_tmpfs(const char* target, unsigned long flags, int64_t bytes, int64_t num_files) {
  const std::string options =
      "mode=0700,size=" + std::to_string(bytes) + ",nr_inodes=" + std::to_string(num_files);
  check(mount("job", target, "tmpfs", MS_NOSUID | MS_NODEV | flags, options.c_str()), target);
}

void fill_box(const SandboxJob& job) {
  int64_t bytes = 16 * kPage;
  bool has_program = false;
  for (const SandboxFile& file : job.files) {
    bytes += static_cast<int64_t>(file.bytes.size()) + kPage;
    has_program |= file.is_program;
  }
  const unsigned long flags = has_program ? 0 : MS_NOEXEC;
  mount_tmpfs(kBoxFolder, flags, bytes, static_cast<int64_t>(job.files.size()) + 8);
  for (const SandboxFile& file : job.files) {
    const std::string path = std::string(kBoxFolder) + "/" + file.name;
    const UniqueFile target(check(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                       file.is_program ? 0555 : 0444),
                                  path));
    if (!write_all(target.get(), file.bytes)) throw_errno(path);
  }
  check(mount(nullptr, kBoxFolder, nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | flags,
              nullptr),
        "make /box read-only");
}

void mount_all(const Cell& cell, const SandboxJob& job) {
  if (cell.layers.has(Layer::kPids)) {
    check(mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "hidepid=invisible,subset=pid"),
          "mount /proc");
  }
  fill_box(job);
  mount_tmpfs(kWorkFolder, MS_NOEXEC, job.limits.file_bytes, kMaxFiles);
}

// Waits for the program, then ends whatever it has left behind.
void wait_for_all(pid_t program, JobReport& report) {
  for (pid_t pid = 0; pid != program;) {
    int status = 0;
    pid = waitpid(-1, &status, 0);
    if (pid < 0 && errno != EINTR) throw_errno("waitpid");
    if (pid == program) report.status = status;
  }
  report.end_ns = steady_time_ns();
  if (getpid() == 1) kill(-1, SIGKILL);
  while (waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
  }
}

// A file that the program left in /work: never through a link, never what is no regular file.
UniqueFile open_result(const SandboxJob& job, int64_t& size) {
  if (job.result_file.empty()) return UniqueFile();
  const UniqueFile folder(open(kWorkFolder, O_PATH | O_DIRECTORY | O_CLOEXEC));
  open_how how{};
  how.flags = O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  UniqueFile file(
      static_cast<int>(syscall(SYS_openat2, folder.get(), job.result_file.c_str(), &how, sizeof(how))));
  struct stat facts{};
  if (!file.is_open() || fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) return UniqueFile();
  size = facts.st_size;
  return size > job.limits.file_bytes ? UniqueFile() : std::move(file);
}

void send_report(const JobReport& report, int to) {
  if (!write_all(to, {reinterpret_cast<const char*>(&report), sizeof(report)})) _exit(1);
}

// All other processes are dead by now: nobody changes the file while it is read.
void send_report_and_result(const SandboxJob& job, JobReport& report, int to) {
  int64_t size = 0;
  const UniqueFile result = open_result(job, size);
  report.has_result = result.is_open() ? 1 : 0;
  send_report(report, to);
  char buffer[65536];
  while (result.is_open() && size > 0) {
    const ssize_t count =
        read(result.get(), buffer, std::min<size_t>(sizeof(buffer), static_cast<size_t>(size)));
    if (count <= 0 || !write_all(to, {buffer, static_cast<size_t>(count)})) _exit(1);
    size -= count;
  }
}

// Starts process 2 and returns its id, once it is the program or has failed to become it.
pid_t start_program(const Cell& cell, const SandboxJob& job, const Escape& escape, const JobFiles& files,
                    JobReport& report) {
  int ends[2];
  check(pipe2(ends, O_CLOEXEC), "pipe2");
  const UniqueFile failures(ends[0]);
  UniqueFile failing(ends[1]);
  const pid_t program = check(fork(), "fork");
  if (program == 0) run_program(cell, job, escape, files, failing.get());
  failing.reset();
  // A killed job may write nothing: then its status says all.
  if (read(failures.get(), &report, sizeof(report)) != sizeof(report)) report = JobReport();
  return program;
}

void prepare(const Cell& cell, const SandboxJob& job, const JobFiles& files) {
  close_others({files.input, files.output, files.error, files.go, files.report});
  await_launcher(files);
  become_user(files);
  mount_all(cell, job);
}

}  // namespace

int64_t steady_time_ns() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

JobReport report_failure(const std::system_error& error) {
  JobReport report;
  const std::string text = error.what();
  strncpy(report.stage, text.substr(0, text.rfind(": ")).c_str(), sizeof(report.stage) - 1);
  report.error = error.code().value();
  return report;
}

void run_job_init(const Cell& cell, const SandboxJob& job, const Escape& escape, const JobFiles& files) {
  try {
    JobReport report;
    prepare(cell, job, files);
    const pid_t program = start_program(cell, job, escape, files, report);
    for (int file : {files.input, files.output, files.error}) close(file);
    wait_for_all(program, report);
    send_report_and_result(job, report, files.report);
  } catch (const std::system_error& error) {
    send_report(report_failure(error), files.report);
  }
  _exit(0);
}

int64_t address_space(const Cell& cell, const SandboxLimits& limits) {
  // With a control group the bound is elsewhere: address space is reserved more freely than memory is used.
  return cell.limits_memory ? 4 * limits.memory_bytes + (int64_t{1} << 30) : limits.memory_bytes;
}

}  // namespace cohort
