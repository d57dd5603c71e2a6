#include "cohort/rewards/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

#include "cohort/core/str.h"

extern char** environ;

namespace cohort {
namespace {

constexpr size_t kMaxReplyBytes = 1 << 20;
constexpr auto kGracePeriod = std::chrono::milliseconds(500);

void throw_errno(int error, const char* what) {
  throw std::system_error(error, std::generic_category(), what);
}

struct Pipe {
  int read_end = -1;
  int write_end = -1;

  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw_errno(errno, "pipe2");
    read_end = ends[0];
    write_end = ends[1];
  }
  ~Pipe() {
    if (read_end >= 0) close(read_end);
    if (write_end >= 0) close(write_end);
  }
};

pid_t spawn_shell(const std::string& command, int standard_input, int standard_output) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, standard_input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, standard_output, STDOUT_FILENO);

  // The program must not inherit a thread's blocked or a daemon's ignored signals.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  for (int signal : {SIGPIPE, SIGINT, SIGTERM, SIGHUP}) sigaddset(&defaults, signal);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

  std::string script = command;
  char shell[] = "sh";
  char option[] = "-c";
  char* arguments[] = {shell, option, script.data(), nullptr};
  pid_t pid = -1;
  int error = posix_spawn(&pid, "/bin/sh", &actions, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw_errno(error, "cannot start /bin/sh");
  return pid;
}

// A write to a program that is gone raises SIGPIPE, whose default ends us. It is held back and swallowed in
// this thread alone, because the disposition belongs to the whole process.
class SigpipeGuard {
 public:
  SigpipeGuard() {
    sigemptyset(&sigpipe_);
    sigaddset(&sigpipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &sigpipe_, &previous_);
  }
  ~SigpipeGuard() {
    timespec no_wait{};
    if (!was_pending_) sigtimedwait(&sigpipe_, nullptr, &no_wait);
    pthread_sigmask(SIG_SETMASK, &previous_, nullptr);
  }

 private:
  sigset_t sigpipe_;
  sigset_t previous_;
  bool was_pending_;
};

// Milliseconds for poll(), rounded up so that it never spins before the deadline.
int remaining_ms(ChildProcess::Clock::time_point deadline) {
  auto rest = std::chrono::ceil<std::chrono::milliseconds>(deadline - ChildProcess::Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(rest, 0, 1 << 30));
}

bool is_temporary(int error) { return error == EAGAIN || error == EINTR; }

// Bytes written; -1 when nobody reads any more.
ssize_t write_some(int file, std::string_view bytes) {
  SigpipeGuard guard;
  ssize_t count = write(file, bytes.data(), bytes.size());
  return count < 0 && is_temporary(errno) ? 0 : count;
}

}  // namespace

ChildProcess::ChildProcess(const std::string& command) {
  Pipe input;
  Pipe output;
  pid_ = spawn_shell(command, input.read_end, output.write_end);
  input_ = std::exchange(input.write_end, -1);
  output_ = std::exchange(output.read_end, -1);
  fcntl(input_, F_SETFL, O_NONBLOCK);
  fcntl(output_, F_SETFL, O_NONBLOCK);
}

ChildProcess::~ChildProcess() {
  close(input_);
  if (pid_ > 0) {
    Clock::time_point deadline = Clock::now() + kGracePeriod;
    siginfo_t info{};
    // WNOWAIT: the program stays unreaped, so that its group can't be somebody else's when it is killed.
    while (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == 0 && Clock::now() < deadline) {
      poll(nullptr, 0, 1);
    }
    kill_and_reap();
  }
  close(output_);
}

int ChildProcess::kill_and_reap() {
  kill(-pid_, SIGKILL);
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return status;
}

ChildProcess::Reply ChildProcess::fail(Status status, std::string text) {
  kill_and_reap();
  return {status, std::move(text)};
}

ChildProcess::Reply ChildProcess::fail_ended() {
  int status = kill_and_reap();
  if (WIFEXITED(status))
    return {Status::kError, str("the program ended with exit status ", WEXITSTATUS(status))};
  if (WTERMSIG(status) != SIGKILL)
    return {Status::kError, str("the program died of signal ", WTERMSIG(status))};
  return {Status::kError, "the program was killed, or closed its input or output"};
}

bool ChildProcess::is_ready() const {
  pollfd file{output_, POLLIN, 0};
  return poll(&file, 1, 0) == 0;
}

ChildProcess::Reply ChildProcess::exchange(const std::string& line, Clock::time_point deadline) {
  std::string request = line + '\n';
  std::string_view unsent = request;
  std::string reply;
  char buffer[65536];
  while (true) {
    pollfd files[2] = {{output_, POLLIN, 0}, {unsent.empty() ? -1 : input_, POLLOUT, 0}};
    int num_ready = poll(files, 2, remaining_ms(deadline));
    if (num_ready == 0) return fail(Status::kTimeout, "no answer before the deadline");
    if (num_ready < 0) continue;  // a signal
    if (files[1].revents != 0) {
      ssize_t count = write_some(input_, unsent);
      if (count < 0) return fail_ended();
      unsent.remove_prefix(static_cast<size_t>(count));
    }
    if (files[0].revents == 0) continue;
    ssize_t count = read(output_, buffer, sizeof(buffer));
    if (count < 0 && is_temporary(errno)) continue;
    if (count <= 0) return fail_ended();
    reply.append(buffer, static_cast<size_t>(count));
    size_t end = reply.find('\n');
    if (end == std::string::npos && reply.size() <= kMaxReplyBytes) continue;
    if (std::min(end, reply.size()) > kMaxReplyBytes)
      return fail(Status::kError, "its answer is longer than 1 MiB");
    if (end + 1 != reply.size()) return fail(Status::kError, "it answered with more than one line");
    if (!unsent.empty()) return fail(Status::kError, "it answered before it had read the whole line");
    reply.pop_back();
    return {Status::kOk, std::move(reply)};
  }
}

}  // namespace cohort
