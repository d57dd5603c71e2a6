#include "cohort/rewards/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <system_error>

#include "libs/common/str.h"

namespace cohort {
namespace {

constexpr auto kGracePeriod = std::chrono::milliseconds(500);
constexpr auto kTimeToExit = std::chrono::seconds(2), kTimeToDie = std::chrono::seconds(10);

// The signals that programs send to their whole group must not end it early.
constexpr const char* kWatch = "trap '' HUP INT TERM; read -r _; kill -KILL 0";

std::vector<std::string> shell(const std::string& line) { return {"/bin/sh", "-c", line}; }

// A path may hold blanks, at which the shell would cut it. It also runs scripts that name no interpreter.
std::vector<std::string> single_word(const std::string& word) {
  if (access(word.c_str(), X_OK) != 0) return shell(word);
  return {"/bin/sh", "-c", "exec \"$0\"", word};
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

int reap(pid_t& pid) {
  int status = SIGKILL;  // where nobody can tell
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  pid = -1;
  return status;
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& command) {
  Pipe life, input, output;
  const OpenFile nowhere(open("/dev/null", O_WRONLY | O_CLOEXEC));
  watcher_ = spawn(shell(kWatch), life.read_end, nowhere, 0);
  try {
    pid_ = spawn(command.size() == 1 ? single_word(command[0]) : command, input.read_end, output.write_end,
                 watcher_);
    exit_ = OpenFile(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
    if (exit_.number() < 0) throw std::system_error(errno, std::generic_category(), "pidfd_open");
  } catch (const std::system_error&) {
    kill_and_reap();
    throw;
  }
  life_ = std::move(life.write_end);
  input_ = std::move(input.write_end);
  output_ = std::move(output.read_end);
  fcntl(input_.number(), F_SETFL, O_NONBLOCK);
  fcntl(output_.number(), F_SETFL, O_NONBLOCK);
}

ChildProcess::~ChildProcess() {
  end_input();
  if (watcher_ < 0) return;
  ends_by(*last_moment_);
  kill_and_reap();
}

void ChildProcess::end_input() {
  input_.close();
  if (!last_moment_) last_moment_ = Clock::now() + kGracePeriod;
}

bool ChildProcess::ends_by(Clock::time_point deadline) const {
  pollfd file{exit_.number(), POLLIN, 0};
  int num_ready = 0;
  while ((num_ready = poll(&file, 1, remaining_ms(deadline))) < 0 && errno == EINTR) {
  }
  return num_ready > 0;
}

// The watcher stays unreaped until all are killed, so that the group can't be somebody else's. A program that
// hangs in the kernel is left to it: it is not waited for.
int ChildProcess::kill_and_reap() {
  kill(-watcher_, SIGKILL);
  if (pid_ > 0) kill(pid_, SIGKILL);  // it may have left the group
  const bool is_dead = exit_.number() < 0 || ends_by(Clock::now() + kTimeToDie);
  const int status = pid_ > 0 && is_dead ? reap(pid_) : SIGKILL;
  reap(watcher_);
  return status;
}

ChildProcess::Reply ChildProcess::fail(Status status, std::string text) {
  kill_and_reap();
  return {status, std::move(text)};
}

ChildProcess::Reply ChildProcess::fail_ended() {
  Reply reply{Status::kEnded, "the program was killed, or closed its input or output",
              num_unread() < num_sent_};
  // Most close their output as they end: the kill would hide their status.
  ends_by(Clock::now() + kTimeToExit);
  const int status = kill_and_reap();
  if (WIFEXITED(status)) reply.text = str("the program ended with exit status ", WEXITSTATUS(status));
  if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
    reply.text = str("the program died of signal ", WTERMSIG(status));
  return reply;
}

size_t ChildProcess::num_unread() const {
  int count = 0;
  return ioctl(input_.number(), FIONREAD, &count) == 0 ? static_cast<size_t>(count) : 0;
}

bool ChildProcess::is_ready() const {
  pollfd files[2] = {{output_.number(), POLLIN, 0}, {exit_.number(), POLLIN, 0}};
  return poll(files, 2, 0) == 0;
}

ChildProcess::Reply ChildProcess::exchange(const std::string& line, Clock::time_point deadline,
                                           size_t max_bytes) {
  const std::string request = line + '\n';
  std::string received;
  num_sent_ = 0;
  while (true) {
    const bool is_sending = num_sent_ < request.size();
    pollfd files[3] = {{output_.number(), POLLIN, 0},
                       {is_sending ? input_.number() : -1, POLLOUT, 0},
                       {exit_.number(), POLLIN, 0}};
    const int num_ready = poll(files, 3, remaining_ms(deadline));
    if (num_ready == 0 || Clock::now() >= deadline)
      return fail(Status::kTimeout, "no answer before the deadline");
    if (num_ready < 0) continue;  // a signal
    if (files[1].revents != 0) {
      const ssize_t count = write_some(input_.number(), std::string_view(request).substr(num_sent_));
      if (count < 0) return fail_ended();
      num_sent_ += static_cast<size_t>(count);
    }
    if (files[0].revents != 0) {
      if (auto reply = receive(received, max_bytes)) {
        // A program may leave the line's end for later.
        const bool has_read = num_sent_ == request.size() && num_unread() <= 1;
        if (reply->status != Status::kOk || has_read) return *std::move(reply);
        return fail(Status::kBroken, "it answered before it had read the whole line");
      }
    } else if (files[2].revents != 0) {
      return fail_ended();  // and all that it wrote is read; others may still hold its output open
    }
  }
}

std::optional<ChildProcess::Reply> ChildProcess::receive(std::string& received, size_t max_bytes) {
  char buffer[65536];
  const ssize_t count = read(output_.number(), buffer, sizeof(buffer));
  if (count < 0 && is_temporary(errno)) return std::nullopt;
  if (count <= 0) return fail_ended();
  const size_t begin = received.size();
  received.append(buffer, static_cast<size_t>(count));
  const size_t end = received.find('\n', begin);
  if (std::min(end, received.size()) > max_bytes)
    return fail(Status::kBroken, str("its answer is longer than ", max_bytes >> 20, " MiB"));
  if (end == std::string::npos) return std::nullopt;
  if (end + 1 != received.size()) return fail(Status::kBroken, "it answered with more than one line");
  received.pop_back();
  return Reply{Status::kOk, std::move(received)};
}

}  // namespace cohort
