// Runs programs that nobody trusts, through cohort-sandboxd, a program of its own beside ours. The programs
// never see what is expected of them and judge nothing: they return bytes, which our side compares.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cohort/rewards/sandbox_starter.h"

namespace cohort {

/// One thread at a time. Where the sandbox itself fails a job is tried three times in all.
class Sandbox {
 public:
  /// Starts the workers. Throws ConfigError when not all layers hold that are not waived, naming those that
  /// are missing and how to mend that.
  explicit Sandbox(SandboxOptions options);

  /// Kills what still runs.
  ~Sandbox();

  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  /// Makes the job of an index, each time that it is started: what jobs have in common is then in memory as
  /// often as jobs run, and not as often as there are jobs.
  using MakeJob = std::function<SandboxJob(size_t)>;

  /// Called with a job's index as it ends; false: the jobs not started yet need not run.
  using OnOutcome = std::function<bool(size_t, SandboxOutcome)>;

  /// Runs the jobs, several at a time. Where a function throws, the workers that run jobs are killed first.
  void run(size_t num_jobs, const MakeJob& make_job, const OnOutcome& on_outcome);

  void run(const std::vector<SandboxJob>& jobs, const OnOutcome& on_outcome);

  SandboxOutcome run(const SandboxJob& job);

  /// FULL or PARTIAL(layers).
  const std::string& level() const { return starter_.level(); }

  /// Whether the memory of a job's processes together is bounded; if not, only that of each.
  bool limits_memory() const { return starter_.limits_memory(); }

  /// Process ids of the workers, for tests.
  std::vector<int> worker_pids() const;

 private:
  struct Worker;
  struct Queue;

  void run_queue(Queue& queue);
  void assign(Worker& worker, Queue& queue);
  void collect(Worker& worker, Queue& queue);
  void finish(Worker& worker, Queue& queue, SandboxOutcome outcome);
  void wait(const Queue& queue);

  SandboxStarter starter_;
  std::vector<Worker> workers_;
};

}  // namespace cohort
