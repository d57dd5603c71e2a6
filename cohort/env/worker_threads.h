// Threads for work that waits: calls of tools and environments.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace cohort {

/// Runs jobs in the order in which they come, as many at a time as there are threads. Any thread may call.
class WorkerThreads {
 public:
  explicit WorkerThreads(int64_t count);

  /// Drops the jobs that have not begun and waits for the others.
  ~WorkerThreads();

  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;

  /// `job` must not throw.
  void add(std::function<void()> job);

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  bool is_stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace cohort
