// Threads for work that waits: calls of tools and environments.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <vector>

namespace cohort {

/// Runs jobs in the order in which they come, as many at a time as there are threads; jobs of one lane run
/// one after another. Any thread may call.
class WorkerThreads {
 public:
  explicit WorkerThreads(int64_t count);

  /// Drops the jobs that have not begun and waits for the others.
  ~WorkerThreads();

  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;

  /// `job` must not throw. A job without a lane waits for no other.
  void add(std::function<void()> job, std::optional<int64_t> lane = {});

 private:
  struct Job {
    std::function<void()> run;
    std::optional<int64_t> lane;
  };

  void work();
  bool can_begin(const Job& job) const { return !job.lane || !busy_lanes_.contains(*job.lane); }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  std::set<int64_t> busy_lanes_;
  bool is_stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace cohort
