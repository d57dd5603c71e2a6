#include "cohort/env/worker_threads.h"

#include <algorithm>

namespace cohort {

WorkerThreads::WorkerThreads(int64_t count) {
  for (int64_t i = 0; i < count; ++i) threads_.emplace_back([this] { work(); });
}

WorkerThreads::~WorkerThreads() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    jobs_.clear();
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerThreads::add(std::function<void()> job, std::optional<int64_t> lane) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back({std::move(job), lane});
  }
  changed_.notify_one();
}

void WorkerThreads::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    auto next = jobs_.end();
    changed_.wait(lock, [&] {
      next = std::ranges::find_if(jobs_, [&](const Job& job) { return can_begin(job); });
      return is_stopping_ || next != jobs_.end();
    });
    if (is_stopping_) return;
    Job job = std::move(*next);
    jobs_.erase(next);
    if (job.lane) busy_lanes_.insert(*job.lane);
    lock.unlock();
    job.run();
    job.run = nullptr;  // what it holds ends before its lane is free
    lock.lock();
    if (job.lane) busy_lanes_.erase(*job.lane);
  }
}

}  // namespace cohort
