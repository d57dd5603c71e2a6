// The outside of one job: starts its first process, feeds and reads its pipes, and ends it at its deadline.
#pragma once

#include <chrono>

#include "apps/sandboxd/job.h"
#include "apps/sandboxd/system.h"

namespace cohort {

class RunningJob {
 public:
  using Clock = std::chrono::steady_clock;

  /// `control` is the socket to the trainer, or -1: the job ends when the trainer does. `session` has the
  /// files of a job that is a session, which also ends when the other end of its channel does.
  RunningJob(const SandboxJob& job, SessionFiles session, int control)
      : job_(job), session_(std::move(session)), control_(control), unsent_(job.input) {}

  /// Kills and reaps what still runs.
  ~RunningJob();

  RunningJob(const RunningJob&) = delete;
  RunningJob& operator=(const RunningJob&) = delete;

  /// Starts the job and waits until it is over: ended by itself, or killed at a limit. `machine_proc` is the
  /// machine's /proc. Throws std::system_error when the sandbox fails.
  void run(const Cell& cell, const Escape& escape, int machine_proc);

  /// What became of it; `was_short_of_memory` when the kernel killed one of its processes for that.
  SandboxOutcome take_outcome(bool was_short_of_memory);

  bool has_lost_trainer() const { return has_lost_trainer_; }

 private:
  void start(const Cell& cell, const Escape& escape, int machine_proc);
  void write_user_map(const Cell& cell, int machine_proc);
  void look_for_start();
  bool is_over() const;
  void wait_for_events(int timeout_ms);
  bool has_report() const;
  void feed_input();
  bool read_some(UniqueFile& file, std::string& text, size_t max_bytes);
  void read_error();
  void kill_for(SandboxCause cause);
  void reap();
  SandboxOutcome judge(const JobReport& report) const;

  const SandboxJob& job_;
  SessionFiles session_;
  int control_;
  UniqueFile process_, go_, input_, output_, error_, report_;
  pid_t pid_ = -1;
  std::string_view unsent_;
  std::string output_text_, error_tail_, report_bytes_;
  int64_t num_error_bytes_ = 0;
  int64_t cpu_us_ = 0;  // of all processes of the job
  int machine_proc_ = -1;
  bool has_started_ = false;  // the program
  bool has_ended_ = false;
  bool is_killed_ = false;
  bool is_ending_ = false;  // by itself
  bool has_lost_trainer_ = false;
  SandboxCause kill_cause_ = SandboxCause::kFailure;
  Clock::time_point start_, end_;
  Clock::time_point limit_;     // until which the program may run
  Clock::time_point deadline_;  // until which we wait
};

}  // namespace cohort
