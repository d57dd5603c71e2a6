#include "apps/sandboxd/memory_group.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <cstdlib>
#include <sstream>

namespace cohort {
namespace {

constexpr const char* kPrefix = "cohort-sandbox-";
constexpr const char* kMounts = "/sys/fs/cgroup";
constexpr int kFolder = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
constexpr int64_t kSpareBytes = 4 << 20;  // the kernel's own notes about a job: namespaces, mounts, pipes

// The path of our group in the hierarchy of `controller`, "" for version 2, from /proc/self/cgroup.
std::string own_path(const std::string& own_groups, const std::string& controller) {
  std::istringstream lines(own_groups);
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::istringstream names(line.substr(first + 1, second - first - 1));
    std::string name;
    do {
      std::getline(names, name, ',');
      if (name == controller) return line.substr(second + 1);
    } while (names.good());
  }
  return "";
}

int64_t to_integer(const std::string& text) { return strtoll(text.c_str(), nullptr, 10); }

// Removes the groups of launchers that are gone. One that is in use can't be removed.
void sweep(int parent) {
  DIR* folder = fdopendir(dup(parent));
  if (folder == nullptr) return;
  while (const dirent* entry = readdir(folder)) {
    const std::string name = entry->d_name;
    if (!name.starts_with(kPrefix)) continue;
    const auto pid = static_cast<pid_t>(to_integer(name.substr(std::string(kPrefix).size())));
    if (kill(pid, 0) != 0 && errno == ESRCH) unlinkat(parent, name.c_str(), AT_REMOVEDIR);
  }
  closedir(folder);
}

// A new folder below `parent`, and its name; "" where there can be none.
std::string make_folder(int parent) {
  const std::string usual = kPrefix + std::to_string(getpid());
  constexpr int kMaxAttempts = 8;
  std::string name = usual;
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    if (mkdirat(parent, name.c_str(), 0755) == 0) return name;
    if (errno != EEXIST) return "";
    // Left by a launcher that was killed; or held by one that has our number in another process namespace.
    if (attempt == 0 && unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0) continue;
    uint32_t number = 0;
    if (getrandom(&number, sizeof(number), 0) != sizeof(number)) return "";
    name = usual + "-" + std::to_string(number);
  }
  return "";
}

int64_t count_after(const std::string& text, const std::string& word) {
  std::istringstream words(text);
  for (std::string name, value; words >> name >> value;) {
    if (name == word) return to_integer(value);
  }
  return 0;
}

}  // namespace

std::unique_ptr<MemoryGroup> MemoryGroup::join() {
  const std::string own_groups = read_file(AT_FDCWD, "/proc/self/cgroup");
  std::unique_ptr<MemoryGroup> group(new MemoryGroup);
  if (!group->join_unified(own_path(own_groups, "")) && !group->join_separate(own_groups)) return nullptr;
  const Place& place = group->memory_place();
  const char* usage = group->is_unified_ ? "memory.current" : "memory.usage_in_bytes";
  group->own_bytes_ = to_integer(read_file(place.folder.get(), usage)) + kSpareBytes;
  return group;
}

bool MemoryGroup::join_unified(const std::string& own_path) {
  // The caller's group may not hold processes and groups with limits at once; the one above it then serves.
  std::string parent = std::string(kMounts) + own_path;
  for (int level = 0; level < 2; ++level) {
    const UniqueFile folder(open(parent.c_str(), kFolder));
    if (!folder.is_open()) return false;
    if (read_file(folder.get(), "cgroup.controllers").find("memory") == std::string::npos) return false;
    if (write_file(folder.get(), "cgroup.subtree_control", "+memory +pids")) {
      is_unified_ = add_place(parent, true, true);
      return is_unified_ && write_file(places_[0].folder.get(), "memory.swap.max", "0");
    }
    parent += "/..";
  }
  return false;
}

bool MemoryGroup::join_separate(const std::string& own_groups) {
  const std::string mounts = kMounts;
  if (!add_place(mounts + "/memory" + own_path(own_groups, "memory"), true, false)) return false;
  add_place(mounts + "/pids" + own_path(own_groups, "pids"), false, true);
  return true;
}

bool MemoryGroup::add_place(const std::string& parent, bool has_memory, bool has_pids) {
  Place place{UniqueFile(open(parent.c_str(), kFolder)), UniqueFile(), "", has_memory, has_pids};
  if (!place.parent.is_open()) return false;
  sweep(place.parent.get());
  place.name = make_folder(place.parent.get());
  if (place.name.empty()) return false;
  place.folder = UniqueFile(openat(place.parent.get(), place.name.c_str(), kFolder));
  if (!place.folder.is_open() || !write_file(place.folder.get(), "cgroup.procs", "0")) {
    unlinkat(place.parent.get(), place.name.c_str(), AT_REMOVEDIR);
    return false;
  }
  places_.push_back(std::move(place));
  return true;
}

MemoryGroup::~MemoryGroup() {
  for (const Place& place : places_) {
    write_file(place.parent.get(), "cgroup.procs", "0");
    unlinkat(place.parent.get(), place.name.c_str(), AT_REMOVEDIR);
  }
}

const MemoryGroup::Place& MemoryGroup::memory_place() const { return places_.front(); }

bool MemoryGroup::set_limits(int64_t memory_bytes, int64_t num_processes) {
  const std::string limit = std::to_string(memory_bytes + own_bytes_);
  const int memory = memory_place().folder.get();
  if (memory_bytes != memory_bytes_) {
    if (is_unified_) {
      if (!write_file(memory, "memory.max", limit)) return false;
    } else {
      // Memory and swap together may never be below memory: raise that first, lower it last.
      const bool has_swap_limit = faccessat(memory, "memory.memsw.limit_in_bytes", F_OK, 0) == 0;
      if (has_swap_limit) write_file(memory, "memory.memsw.limit_in_bytes", "-1");
      if (!write_file(memory, "memory.limit_in_bytes", limit)) return false;
      if (has_swap_limit && !write_file(memory, "memory.memsw.limit_in_bytes", limit)) return false;
    }
    memory_bytes_ = memory_bytes;
  }
  if (num_processes != num_processes_ && places_.back().has_pids) {
    // The launcher and the job's init count, too.
    if (!write_file(places_.back().folder.get(), "pids.max", std::to_string(num_processes + 2))) return false;
    num_processes_ = num_processes;
  }
  return true;
}

int64_t MemoryGroup::num_kills() const {
  const char* name = is_unified_ ? "memory.events" : "memory.oom_control";
  return count_after(read_file(memory_place().folder.get(), name), "oom_kill");
}

}  // namespace cohort
