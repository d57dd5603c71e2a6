#include "apps/sandboxd/self_test.h"

#include <netinet/in.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/socket.h>

#include <stdexcept>

#include "apps/sandboxd/image.h"
#include "apps/sandboxd/landlock.h"

namespace cohort {
namespace {

// A command that is never executed: an escape takes its place.
SandboxJob escape_job(const SandboxLimits& limits) {
  SandboxJob job;
  job.command = {"/"};
  job.limits = limits;
  job.limits.wall_ms = 5000;
  return job;
}

UniqueFile listen_on_loopback(uint16_t& port) {
  UniqueFile listener(check(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket"));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  check(bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), size), "bind");
  check(listen(listener.get(), 1), "listen");
  check(getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size), "getsockname");
  port = ntohs(address.sin_port);
  return listener;
}

/// A queue that everybody in the launcher's own namespace may look at.
class BaitQueue {
 public:
  BaitQueue() : id_(check(msgget(IPC_PRIVATE, 0666), "msgget")) {}
  ~BaitQueue() { msgctl(id_, IPC_RMID, nullptr); }
  BaitQueue(const BaitQueue&) = delete;
  BaitQueue& operator=(const BaitQueue&) = delete;

  int id() const { return id_; }

 private:
  int id_;
};

void run_harmless_job(Launcher& launcher) {
  const SandboxOutcome outcome = launcher.try_escape(escape_job({}), [] { return 0; }, {});
  if (outcome.cause == SandboxCause::kFailure)
    throw std::runtime_error("no job can be started: " + outcome.failure);
  if (outcome.cause != SandboxCause::kExit || outcome.code != 0)
    throw std::runtime_error("a job that does nothing does not end by itself");
}

}  // namespace

BaitBox::BaitBox(const std::vector<std::string>& runtime) {
  bait_.launcher = getpid();
  bait_.landlock_version = landlock_version();
  bait_.runtime = tidy_paths(runtime);
  listener_ = listen_on_loopback(bait_.port);
}

LayerSet run_self_test(Launcher& launcher, const BaitBox& box) {
  run_harmless_job(launcher);
  LayerSet missing = launcher.missing();
  const BaitQueue queue;
  Bait bait = box.bait();
  bait.message_queue = queue.id();
  // Without this layer, what the other attempts start would outlive them.
  const bool is_loose = !launcher.cell().layers.has(Layer::kPids);
  for (const EscapeAttempt& attempt : escape_attempts(bait)) {
    if (missing.has(attempt.layer) || (is_loose && attempt.layer != Layer::kPids)) continue;
    const SandboxOutcome outcome =
        launcher.try_escape(escape_job(attempt.limits), attempt.escape, attempt.off);
    const bool was_held = outcome.cause == SandboxCause::kExit && outcome.code == 0;
    const bool is_memory = attempt.layer == Layer::kMemory && outcome.cause == SandboxCause::kMemory;
    if (!was_held && !is_memory) missing.add(attempt.layer);
  }
  return missing;
}

}  // namespace cohort
