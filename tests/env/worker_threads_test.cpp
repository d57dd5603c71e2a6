// Jobs on threads: what of them runs side by side.
#include "cohort/env/worker_threads.h"

#include <gtest/gtest.h>

#include <latch>
#include <mutex>
#include <string>
#include <vector>

namespace cohort {
namespace {

TEST(WorkerThreadsTest, JobsOfOneLaneRunOneAfterAnother) {
  std::mutex mutex;
  std::vector<std::string> events;
  std::latch other_ran(1), all_ran(4);
  const auto note = [&](const char* event) {
    const std::lock_guard lock(mutex);
    events.emplace_back(event);
  };
  WorkerThreads threads(2);
  threads.add(
      [&] {
        other_ran.wait();
        note("first of lane 0 ends");
        all_ran.count_down();
      },
      0);
  threads.add(
      [&] {
        note("second of lane 0");
        all_ran.count_down();
      },
      0);
  threads.add(
      [&] {
        note("lane 1");
        all_ran.count_down();
      },
      1);
  // Waits for no other job: it can run while lane 0 is busy, too.
  threads.add([&] {
    note("no lane");
    other_ran.count_down();
    all_ran.count_down();
  });
  all_ran.wait();
  EXPECT_EQ(events,
            (std::vector<std::string>{"lane 1", "no lane", "first of lane 0 ends", "second of lane 0"}));
}

}  // namespace
}  // namespace cohort
