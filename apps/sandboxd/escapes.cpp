#include "apps/sandboxd/escapes.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "apps/sandboxd/image.h"
#include "apps/sandboxd/system.h"

namespace cohort {
namespace {

bool exists(const char* path) {
  struct stat facts{};
  return stat(path, &facts) == 0;
}

bool can_open(const std::string& path, int flags) {
  return UniqueFile(open(path.c_str(), flags | O_CLOEXEC, 0600)).is_open();
}

// Whether `action`, in a process of its own, was refused: it returned 0, or was killed for its system call.
template <typename Action>
bool is_refused(Action action) {
  const pid_t pid = fork();
  if (pid == 0) _exit(action() ? 1 : 0);
  int status = 0;
  if (pid < 0 || waitpid(pid, &status, 0) != pid) return false;
  return WIFSIGNALED(status) ? WTERMSIG(status) == SIGSYS : WEXITSTATUS(status) == 0;
}

int escape_user() {
  std::istringstream map(read_file(AT_FDCWD, "/proc/self/uid_map"));
  int64_t inner = -1, outer = 0, count = 0;
  map >> inner >> outer >> count;
  return outer != 0 && count == 1 && getuid() == kInnerUser ? 0 : 1;
}

// Whether `folder` holds nothing but what leads to the runtime's paths and what belongs to every image.
bool holds_only_the_image(const std::string& folder, const std::vector<std::string>& runtime) {
  const std::string usual[] = {"/bin",    "/sbin",     "/lib", "/lib32", "/lib64",
                               "/libx32", kJobsFolder, "/tmp", "/dev",   "/proc"};
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().string();
    if (std::find(std::begin(usual), std::end(usual), name) != std::end(usual)) continue;
    if (std::find(runtime.begin(), runtime.end(), name) != runtime.end()) continue;
    const auto is_below = [&](const std::string& path) { return path.starts_with(name + "/"); };
    if (std::none_of(runtime.begin(), runtime.end(), is_below)) return false;
    if (!holds_only_the_image(name, runtime)) return false;
  }
  return true;
}

int escape_files(const Bait& bait) {
  if (!holds_only_the_image("/", bait.runtime)) return 1;
  for (const char* path : {"/etc/passwd", "/etc/shadow", "/sys/kernel", "/dev/kmsg"}) {
    if (exists(path)) return 1;
  }
  if (mkdir("/escape", 0700) == 0 || can_open(std::string(kBoxFolder) + "/escape", O_WRONLY | O_CREAT))
    return 1;
  for (const std::string& path : bait.runtime) {
    if (can_open(path, O_WRONLY) || can_open(path + "/escape", O_WRONLY | O_CREAT)) return 1;
  }
  // What is written may not be executed.
  const std::string script = std::string(kWorkFolder) + "/script";
  {
    const UniqueFile file(open(script.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0700));
    if (!write_all(file.get(), "#!" + script + "\n")) return 1;
  }
  char* const none[] = {nullptr};
  return execve(script.c_str(), none, none) < 0 && errno == EACCES ? 0 : 1;
}

int escape_pids(const Bait& bait) {
  const bool is_alone = getpid() == 2 && getppid() == 1;
  // In a container the launcher may have a number that the job sees its own processes by.
  const bool is_out_of_reach = bait.launcher <= 2 || (kill(bait.launcher, 0) < 0 && errno == ESRCH);
  return is_alone && is_out_of_reach ? 0 : 1;
}

int escape_network(const Bait& bait) {
  const UniqueFile connection(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(bait.port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 ? 1 : 0;
}

int escape_ipc(const Bait& bait) {
  msqid_ds facts{};
  return msgctl(bait.message_queue, IPC_STAT, &facts) == 0 ? 1 : 0;
}

int escape_hostname() {
  char name[65] = {};
  return gethostname(name, sizeof(name) - 1) == 0 && strcmp(name, "sandbox") == 0 ? 0 : 1;
}

int escape_cgroup() {
  std::istringstream lines(read_file(AT_FDCWD, "/proc/self/cgroup"));
  for (std::string line; std::getline(lines, line);) {
    if (!line.ends_with(":/")) return 1;
  }
  return 0;
}

int escape_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[2] = {};
  if (syscall(SYS_capget, &header, sets) != 0) return 1;
  for (const auto& set : sets) {
    if (set.effective != 0 || set.permitted != 0 || set.inheritable != 0) return 1;
  }
  if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1) return 1;
  const std::string work = kWorkFolder;
  if (mount("escape", kWorkFolder, "tmpfs", 0, nullptr) == 0 || chroot(kWorkFolder) == 0) return 1;
  if (sethostname("escape", 6) == 0 || mknod((work + "/null").c_str(), S_IFCHR | 0600, 0x103) == 0) return 1;
  return 0;
}

int escape_landlock(const Bait& bait) {
  const std::string work = kWorkFolder;
  if (mknod((work + "/socket").c_str(), S_IFSOCK | 0600, 0) == 0) return 1;
  if (mkfifo((work + "/fifo").c_str(), 0600) == 0) return 1;
  // From version 6 on, signals stay inside, too.
  return bait.landlock_version >= 6 && kill(1, 0) == 0 ? 1 : 0;
}

bool change_limit_of(pid_t pid) {
  const rlimit none{0, 0};
  return syscall(SYS_prlimit64, pid, RLIMIT_CORE, &none, nullptr) == 0;
}

int escape_seccomp() {
  for (int family : {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_PACKET, AF_ALG, AF_VSOCK}) {
    if (UniqueFile(socket(family, SOCK_DGRAM, 0)).is_open()) return 1;
    if (UniqueFile(socket(family, SOCK_STREAM, 0)).is_open()) return 1;
  }
  constexpr long kKeyRing = -3;  // the session's
  constexpr long kForeignCall = 0x40000000;
  const bool holds =
      is_refused([] { return ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0; }) &&
      is_refused([] { return syscall(SYS_unshare, 0x10000000) == 0; }) &&
      is_refused([] { return syscall(SYS_keyctl, 0, kKeyRing, 1) >= 0; }) &&
      is_refused([] { return syscall(SYS_io_uring_setup, 1, nullptr) >= 0 || errno != ENOSYS; }) &&
      is_refused([] { return syscall(SYS_bpf, 0, nullptr, 0) >= 0 || errno != EPERM; }) &&
      is_refused([] { return memfd_create("escape", 0) >= 0; }) &&
      is_refused([] { return syscall(SYS_shmget, 0, 4096, 0600) >= 0; }) &&
      is_refused([] { return syscall(kForeignCall | SYS_getpid) > 0; }) &&
      // What would reach the first process of the job, which has the same user.
      is_refused([] { return change_limit_of(1); }) &&
      is_refused([] { return setpriority(PRIO_USER, 0, 19) == 0; });
  return holds ? 0 : 1;
}

// Two processes that each stay below the limit, and are above it together.
int escape_memory(int64_t bytes_each) {
  constexpr int kCannotTry = 3;
  int ends[2];
  if (pipe2(ends, O_NONBLOCK) != 0) return 1;
  for (int child = 0; child < 2; ++child) {
    if (fork() != 0) continue;
    void* memory = mmap(nullptr, static_cast<size_t>(bytes_each), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) _exit(kCannotTry);
    memset(memory, 1, static_cast<size_t>(bytes_each));
    write_all(ends[1], "!");
    pause();
  }
  for (int num_full = 0; num_full < 2;) {
    char byte = 0;
    if (read(ends[0], &byte, 1) == 1) ++num_full;
    int status = 0;
    if (waitpid(-1, &status, WNOHANG) > 0) return WIFSIGNALED(status) ? 0 : 1;
    poll(nullptr, 0, 1);
  }
  return 1;
}

int escape_processes() {
  constexpr int kMany = 64;
  for (int child = 0; child < kMany; ++child) {
    const pid_t pid = fork();
    if (pid < 0) return 0;
    if (pid == 0) {
      pause();
      _exit(0);
    }
  }
  return 1;
}

int escape_limits() {
  constexpr int kMany = 4096;
  int num_open = 0;
  while (num_open < kMany && dup(0) >= 0) ++num_open;
  if (num_open == kMany) return 1;
  for (__rlimit_resource resource : {RLIMIT_NOFILE, RLIMIT_FSIZE, RLIMIT_AS, RLIMIT_STACK}) {
    rlimit limit{};
    getrlimit(resource, &limit);
    limit.rlim_max = RLIM_INFINITY;
    if (setrlimit(resource, &limit) == 0) return 1;
  }
  return 0;
}

}  // namespace

std::vector<EscapeAttempt> escape_attempts(const Bait& bait) {
  constexpr int64_t kMemory = 32 << 20;
  SandboxLimits usual, small;
  small.memory_bytes = kMemory;
  small.num_processes = 8;
  const LayerSet filters{Layer::kSeccomp, Layer::kLandlock};
  const LayerSet rights{Layer::kSeccomp, Layer::kLandlock, Layer::kCapabilities};
  return {
      {Layer::kUser, {}, escape_user, usual},
      {Layer::kFiles, rights, [bait] { return escape_files(bait); }, usual},
      {Layer::kPids, filters, [bait] { return escape_pids(bait); }, usual},
      {Layer::kNetwork, filters, [bait] { return escape_network(bait); }, usual},
      {Layer::kIpc, filters, [bait] { return escape_ipc(bait); }, usual},
      {Layer::kHostname, {}, escape_hostname, usual},
      {Layer::kCgroup, {}, escape_cgroup, usual},
      {Layer::kCapabilities, filters, escape_capabilities, usual},
      {Layer::kLandlock, {Layer::kSeccomp}, [bait] { return escape_landlock(bait); }, usual},
      {Layer::kSeccomp, {Layer::kLandlock}, escape_seccomp, usual},
      {Layer::kMemory, {}, [] { return escape_memory(kMemory * 3 / 4); }, small},
      {Layer::kProcesses, {}, escape_processes, small},
      {Layer::kLimits, {}, escape_limits, usual},
  };
}

}  // namespace cohort
