#include "python/calls.h"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstdint>

namespace py = pybind11;

namespace cohort::python {
namespace {

std::atomic<int64_t> num_calls = 0;
thread_local int64_t num_calls_of_thread = 0;
std::atomic<bool> is_ending = false;

/// Ends the calls of other threads and waits for them. Ctrl-C gives up.
void end_calls() {
  is_ending = true;
  while (num_calls > num_calls_of_thread) {
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    const py::gil_scoped_release released;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

void check_not_ending() {
  if (is_ending) throw std::runtime_error("the interpreter ends");
}

void check_signals() {
  check_not_ending();
  const py::gil_scoped_acquire lock;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

CountedCall::CountedCall() {
  check_not_ending();
  ++num_calls;
  ++num_calls_of_thread;
}

CountedCall::~CountedCall() {
  --num_calls;
  --num_calls_of_thread;
}

void RunTurns::begin(bool is_step) {
  const std::thread::id self = std::this_thread::get_id();
  std::unique_lock lock(mutex_);
  if (is_step) stepper_ = self;
  const bool is_free = worker_ == std::thread::id();
  if (!is_free && (worker_ == self || stepper_ != self))
    throw std::runtime_error(
        "the run is busy with a step: call this from a callback, such as on_step_end(), or after train()");
  ended_.wait(lock, [&] { return worker_ == std::thread::id(); });
  worker_ = self;
}

void RunTurns::end() {
  const std::lock_guard lock(mutex_);
  worker_ = {};
  ended_.notify_one();
}

bool RunTurns::is_mine() {
  const std::lock_guard lock(mutex_);
  return worker_ == std::this_thread::get_id();
}

void end_calls_at_exit() {
  py::module_::import("atexit").attr("register")(py::cpp_function(&end_calls));
  // The other threads are not in a forked child, so that it must not wait for them.
  pthread_atfork(nullptr, nullptr, [] { num_calls = num_calls_of_thread; });
}

}  // namespace cohort::python
