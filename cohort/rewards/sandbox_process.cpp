#include "cohort/rewards/sandbox_process.h"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace cohort {
namespace {

constexpr timeval kSendTimeout{10, 0};
constexpr auto kTimeToEnd = std::chrono::seconds(2), kTimeToDie = std::chrono::seconds(10);

// The program gets an empty environment: no secret of ours can pass on.
pid_t spawn(const std::string& program, const std::vector<std::string>& arguments, int input) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  char* no_environment[] = {nullptr};
  pid_t pid = -1;
  const int error = posix_spawn(&pid, program.c_str(), &actions, &attributes, argv.data(), no_environment);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::system_error(error, std::generic_category(), program);
  return pid;
}

bool send_files(int socket, char byte, const std::vector<int>& files) {
  iovec bytes{&byte, 1};
  const size_t size = files.size() * sizeof(int);
  std::vector<char> room(CMSG_SPACE(size));
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = room.data();
  message.msg_controllen = room.size();
  cmsghdr* const rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(size);
  memcpy(CMSG_DATA(rights), files.data(), size);
  ssize_t count = -1;
  do {
    count = sendmsg(socket, &message, MSG_NOSIGNAL);
  } while (count < 0 && errno == EINTR);
  return count == 1;
}

}  // namespace

SandboxProcess::SandboxProcess(const std::filesystem::path& program,
                               const std::vector<std::string>& arguments) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw std::system_error(errno, std::generic_category(), "socketpair");
  socket_ = ends[0];
  setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &kSendTimeout, sizeof(kSendTimeout));
  try {
    pid_ = spawn(program.string(), arguments, ends[1]);
  } catch (...) {
    close(ends[0]);
    close(ends[1]);
    throw;
  }
  close(ends[1]);
}

SandboxProcess::~SandboxProcess() {
  close(socket_);
  const Clock::time_point end = Clock::now() + kTimeToEnd, last = end + kTimeToDie;
  while (waitpid(pid_, nullptr, WNOHANG) == 0) {
    const Clock::time_point now = Clock::now();
    if (now > last) return;  // it hangs in the kernel
    if (now > end) kill();
    poll(nullptr, 0, 1);
  }
}

void SandboxProcess::kill() { ::kill(pid_, SIGKILL); }

bool SandboxProcess::send(const std::string& message, const std::vector<int>& files) {
  const std::string bytes = sandbox_header(message.size()) + message;
  size_t sent = 0;
  if (!files.empty()) {  // they travel with the first byte
    if (!send_files(socket_, bytes[0], files)) return false;
    sent = 1;
  }
  while (sent < bytes.size()) {
    const ssize_t count = ::send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    sent += static_cast<size_t>(count);
  }
  return true;
}

SandboxProcess::Status SandboxProcess::receive(std::string& message) {
  char buffer[65536];
  const ssize_t count = recv(socket_, buffer, sizeof(buffer), MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return Status::kWaiting;
  if (count <= 0) return Status::kLost;
  received_.append(buffer, static_cast<size_t>(count));
  if (received_.size() < kSandboxHeaderBytes) return Status::kWaiting;
  const std::optional<uint64_t> size = read_sandbox_header(received_);
  if (!size || received_.size() > kSandboxHeaderBytes + *size) return Status::kLost;
  if (received_.size() < kSandboxHeaderBytes + *size) return Status::kWaiting;
  message = received_.substr(kSandboxHeaderBytes);
  received_.clear();
  return Status::kComplete;
}

std::optional<std::string> SandboxProcess::wait(Clock::time_point deadline) {
  while (true) {
    const auto rest = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (rest <= 0) return std::nullopt;
    pollfd file{socket_, POLLIN, 0};
    if (poll(&file, 1, static_cast<int>(std::min<int64_t>(rest, 1 << 30))) <= 0) continue;
    std::string message;
    const Status status = receive(message);
    if (status == Status::kLost) return std::nullopt;
    if (status == Status::kComplete) return message;
  }
}

}  // namespace cohort
