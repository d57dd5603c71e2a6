#include "apps/sandboxd/running_job.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstring>

#include "apps/sandboxd/processor_time.h"

namespace cohort {
namespace {

constexpr size_t kErrorTail = 4096;
constexpr auto kTimeToStart = std::chrono::seconds(8), kTimeToDie = std::chrono::seconds(10);

struct Pipe {
  UniqueFile read_end, write_end;
};

Pipe make_pipe() {
  int ends[2];
  check(pipe2(ends, O_CLOEXEC), "pipe2");
  return {UniqueFile(ends[0]), UniqueFile(ends[1])};
}

void make_non_blocking(const UniqueFile& file) { check(fcntl(file.get(), F_SETFL, O_NONBLOCK), "fcntl"); }

uint64_t clone_flags(const Cell& cell) {
  uint64_t flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_PIDFD;
  if (cell.layers.has(Layer::kPids)) flags |= CLONE_NEWPID;
  if (cell.layers.has(Layer::kIpc)) flags |= CLONE_NEWIPC;
  return flags;
}

int64_t microseconds(const timeval& time) { return int64_t{time.tv_sec} * 1000000 + time.tv_usec; }

int remaining_ms(RunningJob::Clock::time_point deadline) {
  const auto rest = std::chrono::ceil<std::chrono::milliseconds>(deadline - RunningJob::Clock::now());
  return static_cast<int>(std::clamp<int64_t>(rest.count(), 0, 1 << 30));
}

}  // namespace

RunningJob::~RunningJob() {
  if (pid_ < 0) return;
  syscall(SYS_pidfd_send_signal, process_.get(), SIGKILL, nullptr, 0);
  reap();
}

void RunningJob::reap() {
  rusage usage{};
  while (wait4(pid_, nullptr, 0, &usage) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  cpu_us_ = std::max(cpu_us_, microseconds(usage.ru_utime) + microseconds(usage.ru_stime));
}

void RunningJob::start(const Cell& cell, const Escape& escape, int machine_proc) {
  Pipe input, output, error, go = make_pipe(), report = make_pipe();
  if (!job_.is_session) input = make_pipe(), output = make_pipe(), error = make_pipe();
  int process = -1;
  clone_args arguments{};
  arguments.flags = clone_flags(cell);
  arguments.pidfd = reinterpret_cast<uint64_t>(&process);
  arguments.exit_signal = SIGCHLD;
  // Who can't be dumped can't have its user map written by its own user: the job takes this back.
  prctl(PR_SET_DUMPABLE, 1);
  pid_ = static_cast<pid_t>(syscall(SYS_clone3, &arguments, sizeof(arguments)));
  if (pid_ == 0) {
    JobFiles files{input.read_end.get(), output.write_end.get(), error.write_end.get(), go.read_end.get(),
                   report.write_end.get()};
    if (job_.is_session) {
      files.input = files.output = session_.channel.get();
      files.error = session_.output.get();
    }
    run_job_init(cell, job_, escape, files);
  }
  prctl(PR_SET_DUMPABLE, 0);
  check(pid_, "clone3");
  process_ = UniqueFile(process);
  input_ = std::move(input.write_end);
  output_ = std::move(output.read_end);
  error_ = std::move(error.read_end);
  report_ = std::move(report.read_end);
  go_ = std::move(go.write_end);
  for (const UniqueFile* file : {&input_, &output_, &error_, &report_}) {
    if (file->is_open()) make_non_blocking(*file);
  }
  // Its reader sees the end of the output once the job is gone.
  session_.output.reset();
  write_user_map(cell, machine_proc);
  start_ = Clock::now();
  deadline_ = start_ + kTimeToStart;
  if (!write_all(go_.get(), "!")) throw_errno("start the job");
}

void RunningJob::write_user_map(const Cell& cell, int machine_proc) {
  const std::string folder = std::to_string(pid_) + "/";
  const auto map = [](unsigned outer) {
    return std::to_string(kInnerUser) + " " + std::to_string(outer) + " 1";
  };
  if (!write_file(machine_proc, folder + "gid_map", map(cell.outer_group)))
    throw_errno("write the map of groups");
  if (!write_file(machine_proc, folder + "uid_map", map(cell.outer_user)))
    throw_errno("write the map of users");
  // The kernel, short of memory, takes a job before its launcher.
  if (!write_file(machine_proc, folder + "oom_score_adj", "1000")) throw_errno("write oom_score_adj");
}

// The program's own time: what the kernel takes to make its namespaces and mounts does not count, and what we
// take to hear of it does.
void RunningJob::look_for_start() {
  if (has_started_ || report_bytes_.size() < sizeof(ProgramStart)) return;
  if (report_bytes_[0] != ProgramStart::kMark) return;
  ProgramStart start;
  memcpy(&start, report_bytes_.data(), sizeof(start));
  report_bytes_.erase(0, sizeof(start));
  has_started_ = true;
  start_ = Clock::time_point(std::chrono::nanoseconds(start.time_ns));
  limit_ = start_ + std::chrono::milliseconds(job_.limits.wall_ms);
  if (!is_killed_) deadline_ = limit_;
}

bool RunningJob::is_over() const {
  return has_ended_ && !output_.is_open() && !error_.is_open() && !report_.is_open();
}

void RunningJob::run(const Cell& cell, const Escape& escape, int machine_proc) {
  machine_proc_ = machine_proc;
  start(cell, escape, machine_proc);
  while (!is_over()) {
    wait_for_events(remaining_ms(deadline_));
    if (Clock::now() < deadline_) continue;
    if (is_killed_ || is_ending_)
      throw std::system_error(ETIMEDOUT, std::generic_category(), "the job does not die");
    // Where we did not get the processor ourselves, the program may have ended long ago.
    wait_for_events(0);
    if (Clock::now() < deadline_) continue;  // the program has started
    if (!has_started_) throw std::system_error(ETIMEDOUT, std::generic_category(), "start the program");
    is_ending_ = has_ended_ || has_report();
    if (is_ending_) {
      deadline_ = Clock::now() + kTimeToDie;
    } else {
      kill_for(SandboxCause::kTimeout);
    }
  }
  reap();
}

bool RunningJob::has_report() const { return report_bytes_.size() >= sizeof(JobReport); }

void RunningJob::wait_for_events(int timeout_ms) {
  pollfd files[] = {{control_, POLLRDHUP, 0},
                    {has_ended_ ? -1 : process_.get(), POLLIN, 0},
                    {output_.get(), POLLIN, 0},
                    {error_.get(), POLLIN, 0},
                    {report_.get(), POLLIN, 0},
                    {input_.get(), POLLOUT, 0},
                    {is_killed_ ? -1 : session_.channel.get(), POLLRDHUP, 0}};
  if (poll(files, std::size(files), timeout_ms) <= 0) return;
  if (files[0].revents != 0) {
    has_lost_trainer_ = true;
    control_ = -1;
    kill_for(SandboxCause::kFailure);
  }
  if (files[1].revents != 0) {
    has_ended_ = true;
    end_ = Clock::now();
  }
  if (files[2].revents != 0 &&
      !read_some(output_, output_text_, static_cast<size_t>(job_.limits.output_bytes)))
    kill_for(SandboxCause::kOutputLimit);
  if (files[3].revents != 0) read_error();
  const size_t max_report =
      sizeof(ProgramStart) + sizeof(JobReport) + static_cast<size_t>(job_.limits.file_bytes);
  if (files[4].revents != 0) read_some(report_, report_bytes_, max_report);
  look_for_start();
  if (files[5].revents != 0) feed_input();
  // The trainer has ended the session, or the program has.
  if (files[6].revents != 0) kill_for(SandboxCause::kFailure);
}

void RunningJob::feed_input() {
  const ssize_t count = write(input_.get(), unsent_.data(), unsent_.size());
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  // A program may end, or close its input, without reading all of it.
  if (count < 0) unsent_ = {};
  unsent_.remove_prefix(static_cast<size_t>(std::max<ssize_t>(count, 0)));
  if (unsent_.empty()) input_.reset();
}

// Reads once; the file is closed at its end. False when `text` has grown past `max_bytes`, to which it is
// cut.
bool RunningJob::read_some(UniqueFile& file, std::string& text, size_t max_bytes) {
  char buffer[65536];
  const ssize_t count = read(file.get(), buffer, sizeof(buffer));
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (count <= 0) {
    file.reset();
    return true;
  }
  text.append(buffer, static_cast<size_t>(count));
  if (text.size() <= max_bytes) return true;
  text.resize(max_bytes);
  return false;
}

void RunningJob::read_error() {
  const size_t old_size = error_tail_.size();
  read_some(error_, error_tail_, std::string::npos);
  num_error_bytes_ += static_cast<int64_t>(error_tail_.size() - old_size);
  if (error_tail_.size() > kErrorTail) error_tail_.erase(0, error_tail_.size() - kErrorTail);
  if (num_error_bytes_ > job_.limits.output_bytes) kill_for(SandboxCause::kOutputLimit);
}

void RunningJob::kill_for(SandboxCause cause) {
  if (is_killed_) return;
  is_killed_ = true;
  kill_cause_ = cause;
  cpu_us_ = processor_time_us(machine_proc_, pid_);
  syscall(SYS_pidfd_send_signal, process_.get(), SIGKILL, nullptr, 0);
  deadline_ = Clock::now() + kTimeToDie;
}

SandboxOutcome RunningJob::judge(const JobReport& report) const {
  SandboxOutcome outcome;
  if (report.stage[0] != '\0') {
    outcome.failure = std::string(report.stage) + ": " + strerror(report.error);
  } else if (WIFEXITED(report.status)) {
    outcome.cause = SandboxCause::kExit;
    outcome.code = WEXITSTATUS(report.status);
  } else {
    outcome.code = WTERMSIG(report.status);
    const bool used_its_time = cpu_us_ >= job_.limits.wall_ms * 1000;
    outcome.cause = outcome.code == SIGSYS                     ? SandboxCause::kForbiddenCall
                    : outcome.code == SIGKILL && used_its_time ? SandboxCause::kTimeout
                                                               : SandboxCause::kSignal;
  }
  return outcome;
}

SandboxOutcome RunningJob::take_outcome(bool was_short_of_memory) {
  SandboxOutcome outcome;
  JobReport report;
  if (has_report()) {
    memcpy(&report, report_bytes_.data(), sizeof(report));
    outcome = judge(report);
    outcome.has_result = report.has_result != 0;
    outcome.result = report_bytes_.substr(sizeof(report));
    if (report.end_ns != 0) end_ = Clock::time_point(std::chrono::nanoseconds(report.end_ns));
    if (has_started_ && outcome.cause != SandboxCause::kFailure && end_ > limit_)
      outcome.cause = SandboxCause::kTimeout;
  } else if (has_started_) {
    // We don't end it, and it does not end itself: whatever the program has done to it is the program's end.
    outcome.cause = SandboxCause::kSignal;
    outcome.code = SIGKILL;
  } else {
    outcome.failure = "the first process of the job ended without a report";
    if (was_short_of_memory) outcome.failure += ", for want of memory";
  }
  // Before the program has started, it is not the program that took it.
  if (was_short_of_memory && has_started_) outcome.cause = SandboxCause::kMemory;
  if (is_killed_ && kill_cause_ != SandboxCause::kFailure) outcome.cause = kill_cause_;
  outcome.cpu_us = cpu_us_;
  outcome.output = std::move(output_text_);
  outcome.error_tail = std::move(error_tail_);
  outcome.wall_us = std::chrono::duration_cast<std::chrono::microseconds>(end_ - start_).count();
  return outcome;
}

}  // namespace cohort
