#include "cohort/rewards/sandbox.h"

#include <poll.h>

#include <algorithm>
#include <thread>

namespace cohort {
namespace {

using Clock = SandboxProcess::Clock;

constexpr int kMaxAttempts = 3;

}  // namespace

struct Sandbox::Worker {
  std::unique_ptr<SandboxProcess> process{};  // none after a failure
  std::optional<size_t> job{};
  Clock::time_point deadline{};
};

struct Sandbox::Queue {
  const MakeJob& make_job;
  const OnOutcome& on_outcome;
  std::vector<size_t> waiting{};  // the next one last
  std::vector<int> num_attempts{};
  size_t num_running = 0;
};

Sandbox::Sandbox(SandboxOptions options) : starter_(std::move(options)) {
  int64_t num_workers = starter_.options().num_workers;
  if (num_workers == 0) num_workers = std::max(1U, std::thread::hardware_concurrency());
  for (int64_t i = 0; i < num_workers; ++i) workers_.push_back({starter_.start_first()});
}

Sandbox::~Sandbox() = default;

SandboxOutcome Sandbox::run(const SandboxJob& job) {
  SandboxOutcome result;
  run(std::vector<SandboxJob>{job}, [&](size_t, SandboxOutcome outcome) {
    result = std::move(outcome);
    return true;
  });
  return result;
}

void Sandbox::run(const std::vector<SandboxJob>& jobs, const OnOutcome& on_outcome) {
  run(jobs.size(), [&](size_t job) { return jobs[job]; }, on_outcome);
}

void Sandbox::run(size_t num_jobs, const MakeJob& make_job, const OnOutcome& on_outcome) {
  Queue queue{make_job, on_outcome};
  queue.num_attempts.resize(num_jobs);
  for (size_t job = num_jobs; job-- > 0;) queue.waiting.push_back(job);
  try {
    run_queue(queue);
  } catch (...) {
    // What these workers still run belongs to nobody now, and their answers to no other job.
    for (Worker& worker : workers_) {
      if (!worker.job) continue;
      if (worker.process) worker.process->kill();
      worker = Worker();
    }
    throw;
  }
}

void Sandbox::run_queue(Queue& queue) {
  while (!queue.waiting.empty() || queue.num_running > 0) {
    for (Worker& worker : workers_) {
      if (!worker.job && !queue.waiting.empty()) assign(worker, queue);
    }
    wait(queue);
    for (Worker& worker : workers_) {
      if (worker.job) collect(worker, queue);
    }
  }
}

void Sandbox::assign(Worker& worker, Queue& queue) {
  const size_t job = queue.waiting.back();
  const SandboxJob made = queue.make_job(job);
  queue.waiting.pop_back();
  worker.job = job;
  ++queue.num_attempts[job];
  ++queue.num_running;
  SandboxOutcome failed;
  try {
    if (!worker.process) worker.process = starter_.start();
  } catch (const std::exception& error) {
    failed.failure = error.what();
    finish(worker, queue, std::move(failed));
    return;
  }
  worker.deadline =
      Clock::now() + std::chrono::milliseconds(made.limits.wall_ms) +
      std::chrono::milliseconds(static_cast<int64_t>(starter_.options().answer_timeout_s * 1000.0));
  if (worker.process->send(encode(made))) return;
  worker.process->kill();
  worker.process.reset();
  failed.failure = "the sandbox's worker is gone";
  finish(worker, queue, std::move(failed));
}

void Sandbox::wait(const Queue& queue) {
  if (queue.num_running == 0) return;
  std::vector<pollfd> files;
  Clock::time_point deadline = Clock::time_point::max();
  for (const Worker& worker : workers_) {
    if (!worker.job) continue;
    files.push_back({worker.process->file(), POLLIN, 0});
    deadline = std::min(deadline, worker.deadline);
  }
  const auto rest = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  poll(files.data(), files.size(), static_cast<int>(std::clamp<int64_t>(rest, 0, 1 << 30)));
}

void Sandbox::collect(Worker& worker, Queue& queue) {
  std::string message;
  const SandboxProcess::Status status = worker.process->receive(message);
  if (status == SandboxProcess::Status::kWaiting && Clock::now() < worker.deadline) return;
  std::optional<SandboxOutcome> outcome;
  if (status == SandboxProcess::Status::kComplete) outcome = decode_outcome(message);
  if (!outcome) {
    // Whatever it says next would belong to another job.
    worker.process->kill();
    worker.process.reset();
    outcome.emplace().failure = "the sandbox's worker died or did not answer";
  }
  finish(worker, queue, std::move(*outcome));
}

void Sandbox::finish(Worker& worker, Queue& queue, SandboxOutcome outcome) {
  const size_t job = *worker.job;
  worker.job.reset();
  --queue.num_running;
  if (outcome.cause == SandboxCause::kFailure && queue.num_attempts[job] < kMaxAttempts) {
    queue.waiting.push_back(job);
  } else if (!queue.on_outcome(job, std::move(outcome))) {
    queue.waiting.clear();
  }
}

std::vector<int> Sandbox::worker_pids() const {
  std::vector<int> pids;
  for (const Worker& worker : workers_) {
    if (worker.process) pids.push_back(worker.process->pid());
  }
  return pids;
}

}  // namespace cohort
