// Calls from Python that work without its global lock: in which modes, at the interpreter's end and after
// fork().
#pragma once

#include <ATen/autocast_mode.h>
#include <pybind11/pybind11.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "cohort/core/error.h"

namespace cohort::python {

/// The modes that the engine computes in, whatever the caller has set for torch: no autocast, no inference
/// mode.
struct OwnModes {
  explicit OwnModes(bool has_gradient) : gradient(has_gradient) {}

  c10::InferenceMode no_inference{false};
  at::AutoGradMode gradient;
  c10::impl::ExcludeDispatchKeyGuard no_autocast{c10::autocast_dispatch_keyset};
};

/// Throws std::runtime_error if the interpreter ends: a thread that wants the global lock after that would be
/// cut off within C++.
void check_not_ending();

/// Ctrl-C between two passes. Python lets its main thread alone see it.
void check_signals();

/// A call that is at work without the global lock. The interpreter waits for its end before its own.
class CountedCall {
 public:
  CountedCall();
  ~CountedCall();
  CountedCall(const CountedCall&) = delete;
  CountedCall& operator=(const CountedCall&) = delete;
};

/// f() without the global lock. A failed check of the engine's own is a bug, not a wrong value.
template <typename F>
auto without_lock(bool has_gradient, F f) {
  const CountedCall call;
  const pybind11::gil_scoped_release released;
  const OwnModes modes(has_gradient);
  try {
    return f();
  } catch (const InternalError& bug) {
    throw std::runtime_error(str("internal error: ", bug.what()));
  }
}

/// The process that opened a run. A child of fork() has its files and none of its threads.
class Owner {
 public:
  bool is_here() const { return ::getpid() == process_; }

  /// Throws std::runtime_error in a forked child.
  void check() const {
    if (is_here()) return;
    throw std::runtime_error(str("the run belongs to process ", process_,
                                 ", which opened it: end a forked child with os._exit()"));
  }

 private:
  pid_t process_ = ::getpid();
};

/// Whose turn it is to work on a run. The thread that takes its steps waits for a call of another thread,
/// which in turn is refused while a step is at work: the step may wait for it, in a reward function.
class RunTurns {
 public:
  /// Throws std::runtime_error if a call is at work for which this thread cannot wait. Without the global
  /// lock.
  void begin(bool is_step);
  void end();

  /// Whether this thread's call is the one at work.
  bool is_mine();

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  std::thread::id worker_;   // of the call at work
  std::thread::id stepper_;  // of the last step
};

/// Waits at exit for the calls of other threads.
void end_calls_at_exit();

}  // namespace cohort::python
