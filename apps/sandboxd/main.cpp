// cohort-sandboxd: runs programs that nobody trusts, for one trainer at the other end of a socket on standard
// input. It is started by the code reward; by hand, `cohort-sandboxd --self-test` says what holds here.
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <sys/socket.h>

#include <cstring>
#include <iostream>
#include <optional>

#include "apps/sandboxd/self_test.h"

namespace cohort {
namespace {

constexpr const char* kUsage =
    "cohort-sandboxd [--runtime PATH]... [--waive LAYERS] [--without LAYERS] [--self-test]\n"
    "  --runtime PATH    a file or folder that programs may read and execute; /usr if none is given\n"
    "  --waive LAYERS    start without these, separated by commas; by default all must hold\n"
    "  --without LAYERS  leave these out, to see the self-test find it\n"
    "                    layers: user files pids network ipc hostname cgroup capabilities landlock seccomp "
    "memory\n"
    "                    processes limits\n"
    "  --self-test       print the level and what is missing; exit status 0 at the required level, else 1\n"
    "Without --self-test, standard input must be a socket to a trainer.\n";

struct Arguments {
  LauncherOptions launcher;
  LayerSet waived;
  bool is_self_test = false;
};

std::optional<Arguments> parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--self-test") {
      arguments.is_self_test = true;
      continue;
    }
    if (++i == argc) return std::nullopt;
    const std::optional<LayerSet> layers = LayerSet::parse(argv[i]);
    if (name == "--runtime") {
      arguments.launcher.runtime.push_back(argv[i]);
    } else if (name == "--waive" && layers) {
      arguments.waived = *layers;
    } else if (name == "--without" && layers) {
      arguments.launcher.removed = *layers;
    } else {
      return std::nullopt;
    }
  }
  if (arguments.launcher.runtime.empty()) arguments.launcher.runtime = {"/usr"};
  return arguments;
}

bool read_all(int file, char* bytes, size_t size) {
  while (size > 0) {
    const ssize_t count = read(file, bytes, size);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes += count;
    size -= static_cast<size_t>(count);
  }
  return true;
}

bool send_message(int control, const std::string& message) {
  return write_all(control, sandbox_header(message.size())) && write_all(control, message);
}

// The first bytes of a message, with the files that come along with the job of a session.
bool receive_header(int control, std::string& header, SessionFiles& session) {
  iovec bytes{header.data(), header.size()};
  alignas(cmsghdr) char room[CMSG_SPACE(2 * sizeof(int))];
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = sizeof(room);
  ssize_t count = -1;
  do {
    count = recvmsg(control, &message, MSG_CMSG_CLOEXEC);
  } while (count < 0 && errno == EINTR);
  if (count <= 0) return false;
  const cmsghdr* files = CMSG_FIRSTHDR(&message);
  if (files != nullptr && files->cmsg_type == SCM_RIGHTS && files->cmsg_len == CMSG_LEN(2 * sizeof(int))) {
    int numbers[2];
    memcpy(numbers, CMSG_DATA(files), sizeof(numbers));
    session.channel = UniqueFile(numbers[0]);
    session.output = UniqueFile(numbers[1]);
  }
  return read_all(control, header.data() + count, header.size() - static_cast<size_t>(count));
}

// Nothing at the end of the socket, or for what is no message.
std::optional<SandboxJob> receive_job(int control, Launcher& launcher, SessionFiles& session) {
  std::string header(kSandboxHeaderBytes, '\0');
  if (!receive_header(control, header, session)) return std::nullopt;
  const std::optional<uint64_t> size = read_sandbox_header(header);
  if (!size) return std::nullopt;
  launcher.make_room(*size);
  std::string message(*size, '\0');
  if (!read_all(control, message.data(), message.size())) return std::nullopt;
  std::optional<SandboxJob> job = decode_job(message);
  if (job && job->is_session && !session.channel.is_open()) return std::nullopt;
  return job;
}

// The socket, away from standard input, which jobs inherit as /dev/null until they get their own.
UniqueFile take_control() {
  UniqueFile control(check(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3), "dup"));
  check(dup2(check(open("/dev/null", O_RDWR | O_CLOEXEC), "/dev/null"), STDIN_FILENO), "dup2");
  // Whatever the trainer forgot to close.
  close_others({control.get()});
  return control;
}

struct Start {
  std::unique_ptr<Launcher> launcher;
  SandboxGreeting greeting;
};

void refuse(Start& start, const std::exception& error, const std::string& cure) {
  start.launcher.reset();
  start.greeting.level = "NONE";
  start.greeting.explanation = std::string("the sandbox can't be set up: ") + error.what();
  if (!cure.empty()) start.greeting.explanation += "\n" + cure;
}

Start start(const Arguments& arguments, int control) {
  Start result;
  try {
    const BaitBox box(arguments.launcher.runtime);
    result.launcher = std::make_unique<Launcher>(arguments.launcher, control);
    const LayerSet missing = run_self_test(*result.launcher, box);
    result.greeting.is_accepted = is_sufficient(missing, arguments.waived);
    result.greeting.level = level(missing);
    result.greeting.explanation = explain(missing);
    result.greeting.limits_memory = result.launcher->cell().limits_memory;
  } catch (const LayerFailure& error) {
    refuse(result, error, explain({error.layer}));
  } catch (const std::exception& error) {
    refuse(result, error, "");
  }
  return result;
}

int serve(const Arguments& arguments) {
  const UniqueFile control = take_control();
  const Start started = start(arguments, control.get());
  if (!send_message(control.get(), encode(started.greeting)) || !started.greeting.is_accepted) return 1;
  while (true) {
    SessionFiles session;
    const std::optional<SandboxJob> job = receive_job(control.get(), *started.launcher, session);
    if (!job) return 0;
    const SandboxOutcome outcome = started.launcher->run(*job, std::move(session));
    if (started.launcher->has_lost_trainer() || !send_message(control.get(), encode(outcome))) return 0;
  }
}

int print_self_test(const Arguments& arguments) {
  const SandboxGreeting greeting = start(arguments, -1).greeting;
  std::cout << greeting.level << "\n";
  if (!greeting.explanation.empty()) std::cout << greeting.explanation << "\n";
  return greeting.is_accepted ? 0 : 1;
}

}  // namespace
}  // namespace cohort

int main(int argc, char** argv) {
  try {
    const std::optional<cohort::Arguments> arguments = cohort::parse(argc, argv);
    if (!arguments) {
      std::cerr << cohort::kUsage;
      return 2;
    }
    // A program that closes its input must not end us, and who started us may not care about its children.
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
    // The bytes of a message go back at once: kept, they would count against the next job's program.
    mallopt(M_MMAP_THRESHOLD, 128 << 10);
    return arguments->is_self_test ? cohort::print_self_test(*arguments) : cohort::serve(*arguments);
  } catch (const std::exception& error) {
    std::cerr << "cohort-sandboxd: " << error.what() << "\n";
    return 1;
  }
}
