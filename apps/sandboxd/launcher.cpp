#include "apps/sandboxd/launcher.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/prctl.h>

#include <filesystem>
#include <sstream>

#include "apps/sandboxd/image.h"
#include "apps/sandboxd/landlock.h"
#include "apps/sandboxd/running_job.h"
#include "apps/sandboxd/seccomp_filter.h"

namespace cohort {
namespace {

constexpr const char* kHostname = "sandbox";
// Each launcher that root starts has a user id of its own, far from those of people and services.
constexpr uid_t kFirstUser = 0x70000000;

// The folders of a machine that belong to no image; used where the layer of files is left out.
std::vector<std::string> all_of_the_machine() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator("/")) {
    const std::string name = entry.path().string();
    if (!entry.is_symlink() && name != "/proc" && name != "/dev" && name != "/tmp") paths.push_back(name);
  }
  return tidy_paths(paths);
}

// Who we are to the kernel.
struct Identity {
  bool is_root = false;          // of the machine: all user ids are ours to give
  bool is_zero_outside = false;  // user 0 of a namespace that user 0 has made
};

Identity identify(int machine_proc) {
  constexpr uint64_t kAllUsers = 0xFFFFFFFF;
  std::istringstream map(read_file(machine_proc, std::to_string(getpid()) + "/uid_map"));
  for (uint64_t inner = 0, outer = 0, count = 0; map >> inner >> outer >> count;) {
    if (geteuid() < inner || geteuid() >= inner + count) continue;
    const bool is_root = geteuid() == 0 && count == kAllUsers;
    return {is_root, !is_root && outer + (geteuid() - inner) == 0};
  }
  return {};
}

// An own user namespace, in which an ordinary user may do what the others need. `inner_user` and
// `inner_group` are who we are in there.
void enter_user_namespace(int machine_proc, uid_t inner_user, gid_t inner_group) {
  const uid_t user = geteuid();
  const gid_t group = getegid();
  if (unshare(CLONE_NEWUSER) != 0) throw LayerFailure(Layer::kUser, "user namespaces (unshare)");
  const auto map = [](unsigned inner, unsigned outer) {
    return std::to_string(inner) + " " + std::to_string(outer) + " 1";
  };
  const std::string self = std::to_string(getpid());
  if (!write_file(machine_proc, self + "/setgroups", "deny") ||
      !write_file(machine_proc, self + "/gid_map", map(inner_group, group)) ||
      !write_file(machine_proc, self + "/uid_map", map(inner_user, user))) {
    throw LayerFailure(Layer::kUser, "write the user map");
  }
}

// The control group bounds the launcher together with the job: what the job gets from us and gives us is not
// the program's. We hold its input, its files, its output, which doubles as it grows, and its result; its
// files lie in its own file system a second time.
int64_t memory_bound(const SandboxJob& job) {
  constexpr int64_t kMebibyte = 1 << 20, kPerFile = 8 << 10;
  int64_t held = static_cast<int64_t>(job.input.size()) + 2 * job.limits.output_bytes;
  for (const SandboxFile& file : job.files) held += 2 * static_cast<int64_t>(file.bytes.size()) + kPerFile;
  if (!job.result_file.empty()) held += job.limits.file_bytes;
  // Whole ones: most jobs then have the same bound, which need not be written again.
  return job.limits.memory_bytes + (held / kMebibyte + 1) * kMebibyte;
}

}  // namespace

LayerFailure::LayerFailure(Layer failed, const std::string& what)
    : std::system_error(errno, std::generic_category(), what), layer(failed) {}

Launcher::Launcher(const LauncherOptions& options, int control) : control_(control) {
  cell_.layers = LayerSet::all().without(options.removed);
  cell_.landlock_version = landlock_version();
  if (cell_.landlock_version == 0) give_up(Layer::kLandlock);
  cell_.runtime = cell_.layers.has(Layer::kFiles) ? tidy_paths(options.runtime) : all_of_the_machine();
  cell_.filter = build_seccomp_filter();
  if (cell_.layers.has(Layer::kMemory)) {
    group_ = MemoryGroup::join();
    if (!group_) give_up(Layer::kMemory);
  }
  cell_.limits_memory = group_ != nullptr;
  machine_proc_ = UniqueFile(check(open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC), "/proc"));
  enter_namespaces();
  enter_image(cell_.runtime);
  check(prctl(PR_SET_DUMPABLE, 0), "PR_SET_DUMPABLE");
}

void Launcher::give_up(Layer layer) {
  cell_.layers = cell_.layers.without({layer});
  missing_.add(layer);
}

void Launcher::enter_namespaces() {
  const Identity identity = identify(machine_proc_.get());
  if (identity.is_zero_outside) give_up(Layer::kUser);
  if (identity.is_root) {
    check(setgroups(0, nullptr), "setgroups");
    cell_.outer_user = cell_.outer_group = 0;
    if (cell_.layers.has(Layer::kUser)) {
      cell_.outer_user = cell_.outer_group = kFirstUser + static_cast<uid_t>(getpid());
    }
  } else {
    // User 0 of a rootless container is an ordinary user, who is called otherwise inside.
    cell_.outer_user = geteuid() == 0 ? kInnerUser : geteuid();
    cell_.outer_group = getegid() == 0 ? kInnerUser : getegid();
    enter_user_namespace(machine_proc_.get(), cell_.outer_user, cell_.outer_group);
  }
  // For the self-test's own queue, which then ends with us, however we end. Each job has another one.
  if (unshare(CLONE_NEWIPC) != 0) give_up(Layer::kIpc);
  if (unshare(CLONE_NEWNS) != 0) throw LayerFailure(Layer::kFiles, "mount namespaces (unshare)");
  struct {
    Layer layer;
    int flag;
  } const others[] = {
      {Layer::kNetwork, CLONE_NEWNET}, {Layer::kHostname, CLONE_NEWUTS}, {Layer::kCgroup, CLONE_NEWCGROUP}};
  for (const auto& [layer, flag] : others) {
    if (cell_.layers.has(layer) && unshare(flag) != 0) give_up(layer);
  }
  if (cell_.layers.has(Layer::kHostname)) {
    check(sethostname(kHostname, std::char_traits<char>::length(kHostname)), "sethostname");
  }
}

void Launcher::make_room(uint64_t message_bytes) {
  const auto copies = static_cast<int64_t>(2 * message_bytes);  // as a message and as a job
  if (group_ && !group_->raise_memory(copies)) throw_errno("raise the memory of the control group");
}

SandboxOutcome Launcher::run(const SandboxJob& job, SessionFiles session) {
  if (std::string fault = find_fault(job); !fault.empty()) {
    SandboxOutcome outcome;
    outcome.failure = std::move(fault);
    return outcome;
  }
  return run_in(cell_, job, {}, std::move(session));
}

SandboxOutcome Launcher::try_escape(const SandboxJob& job, const Escape& escape, LayerSet off) {
  Cell cell = cell_;
  cell.layers = cell.layers.without(off);
  return run_in(cell, job, escape, {});
}

SandboxOutcome Launcher::run_in(const Cell& cell, const SandboxJob& job, const Escape& escape,
                                SessionFiles session) {
  constexpr int64_t kNoBound = 1 << 15;
  const bool counts = cell.layers.has(Layer::kProcesses);
  try {
    if (group_ && !group_->set_limits(memory_bound(job), counts ? job.limits.num_processes : kNoBound))
      throw_errno("set the limits of the control group");
    const int64_t num_kills = group_ ? group_->num_kills() : 0;
    RunningJob running(job, std::move(session), control_);
    running.run(cell, escape, machine_proc_.get());
    has_lost_trainer_ |= running.has_lost_trainer();
    return running.take_outcome(group_ && group_->num_kills() > num_kills);
  } catch (const std::system_error& error) {
    SandboxOutcome outcome;
    outcome.failure = error.what();
    return outcome;
  }
}

std::string find_fault(const SandboxJob& job) {
  if (job.command.empty() || !job.command[0].starts_with("/")) return "the command is no absolute path";
  for (const SandboxFile& file : job.files) {
    if (file.name.empty() || file.name == "." || file.name == ".." ||
        file.name.find_first_of(std::string("/\0", 2)) != std::string::npos) {
      return "a file's name is not a plain name";
    }
  }
  for (int64_t limit : {job.limits.wall_ms, job.limits.memory_bytes, job.limits.output_bytes,
                        job.limits.file_bytes, job.limits.num_processes}) {
    if (limit <= 0) return "a limit is not positive";
  }
  return "";
}

}  // namespace cohort
