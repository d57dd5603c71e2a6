// The control group of one launcher: it bounds the memory and the number of all processes of a job together.
// Version 2 where it has the memory controller, else version 1. The launcher joins it once and its jobs are
// born in it, which costs nothing per job; the memory of the launcher itself is added to the limit.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "apps/sandboxd/system.h"

namespace cohort {

class MemoryGroup {
 public:
  /// Makes a group below the caller's own and joins it; null where that can't be done. Removes the empty
  /// groups of launchers that were killed. The files of the control groups must be reachable by their paths.
  static std::unique_ptr<MemoryGroup> join();

  /// Leaves and removes the group.
  ~MemoryGroup();

  MemoryGroup(const MemoryGroup&) = delete;
  MemoryGroup& operator=(const MemoryGroup&) = delete;

  /// Bounds what jobs use; whether that worked.
  bool set_limits(int64_t memory_bytes, int64_t num_processes);

  /// Raises the bound to `memory_bytes` where it is lower; whether that worked.
  bool raise_memory(int64_t memory_bytes) {
    return memory_bytes <= memory_bytes_ || set_limits(memory_bytes, num_processes_);
  }

  /// How often the kernel has killed for want of memory.
  int64_t num_kills() const;

 private:
  MemoryGroup() = default;

  // One folder per hierarchy: one with version 2, two with version 1. Kept open, since the launcher changes
  // its root.
  struct Place {
    UniqueFile parent;
    UniqueFile folder;
    std::string name;  // of the folder
    bool has_memory = false;
    bool has_pids = false;
  };

  bool join_unified(const std::string& own_path);
  bool join_separate(const std::string& own_groups);
  bool add_place(const std::string& parent, bool has_memory, bool has_pids);
  const Place& memory_place() const;

  std::vector<Place> places_;
  bool is_unified_ = false;
  int64_t own_bytes_ = 0;
  int64_t memory_bytes_ = -1;
  int64_t num_processes_ = -1;
};

}  // namespace cohort
