// Runs jobs one after another, each in namespaces of its own. The launcher holds no secret and parses nothing
// that a job says; it has left the machine's file system and network itself before it starts the first job.
#pragma once

#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "apps/sandboxd/job.h"
#include "apps/sandboxd/memory_group.h"
#include "apps/sandboxd/system.h"

namespace cohort {

struct LauncherOptions {
  std::vector<std::string> runtime;  ///< files and folders of the machine that jobs may read and execute
  LayerSet removed;                  ///< layers to leave out: to see what the self-test says
};

/// Thrown, for errno, where there can be no sandbox for want of `layer`.
struct LayerFailure : std::system_error {
  LayerFailure(Layer layer, const std::string& what);
  Layer layer;
};

class Launcher {
 public:
  /// Moves the calling process, which has one thread, into the sandbox's surroundings. `control` is the
  /// socket to the trainer, or -1. Throws std::system_error when that leaves no sandbox at all.
  Launcher(const LauncherOptions& options, int control);

  /// For a message of so many bytes, while no job runs: it must not count as what a job uses. Throws
  /// std::system_error.
  void make_room(uint64_t message_bytes);

  /// Runs one job; `session` has the files of one that is a session. A failure of the sandbox is an outcome,
  /// too.
  SandboxOutcome run(const SandboxJob& job, SessionFiles session);

  /// The same for `escape` in the place of a program, without the layers `off`.
  SandboxOutcome try_escape(const SandboxJob& job, const Escape& escape, LayerSet off);

  /// The layers that could not be set up. Whether the others hold, the self-test must find out.
  LayerSet missing() const { return missing_; }
  const Cell& cell() const { return cell_; }
  bool has_lost_trainer() const { return has_lost_trainer_; }

 private:
  void give_up(Layer layer);
  void enter_namespaces();
  SandboxOutcome run_in(const Cell& cell, const SandboxJob& job, const Escape& escape, SessionFiles session);

  Cell cell_;
  LayerSet missing_;
  int control_;
  UniqueFile machine_proc_;
  std::unique_ptr<MemoryGroup> group_;
  bool has_lost_trainer_ = false;
};

/// What is wrong with a job that no trainer should send; empty when nothing is.
std::string find_fault(const SandboxJob& job);

}  // namespace cohort
