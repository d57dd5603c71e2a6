// A run and what Python does with it.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "cohort/sampler/sampler.h"
#include "cohort/train/grpo/grpo_run.h"
#include "cohort/train/run/run.h"
#include "python/calls.h"

namespace cohort::python {

/// A run whose calls work without the global lock, in one thread at a time.
class PythonRun {
 public:
  explicit PythonRun(std::unique_ptr<Run> run) : run_(std::move(run)) {}

  /// In a forked child the run is left as it is: its end would end the parent's reward processes, too.
  virtual ~PythonRun() {
    if (!owner_.is_here()) run_.release();
  }
  PythonRun(const PythonRun&) = delete;
  PythonRun& operator=(const PythonRun&) = delete;

  /// As the program runs; returns the exit code. An exception of a function leaves a checkpoint of the steps
  /// before, but in one of several processes: the others have a part in a checkpoint.
  int run_to_end();

  /// The first of the calls that take the steps one by one, for a caller that shows the progress itself.
  void begin() {
    work([&] {
      loop().hide_progress();
      loop().begin();
    });
  }

  StepReport take_step() {
    return work([&] { return loop().take_step(); }, /*is_step=*/true);
  }

  void evaluate(StepReport& report) {
    work([&] { loop().evaluate(report); });
  }

  void end_step(const StepReport& report) {
    work([&] { loop().end_step(report); });
  }

  /// RunLoop::save().
  bool save() {
    return work([&] { return loop().save(); });
  }

  void finish() {
    work([&] { run().finish(); });
  }

  /// Ends the run: another one may open its directory. Whatever a traceback still holds keeps nothing open.
  void close() {
    work([&] { run_.reset(); });
  }

  void save_model(const std::string& directory) {
    work([&] { run().save_model(directory); });
  }

  void take_weights(const std::string& directory) {
    work([&] { run().take_weights(directory); });
  }

  /// The metrics of Run::evaluate_on by their names.
  pybind11::dict evaluate_on(const std::vector<std::string>& files);

  bool is_forked() const { return !owner_.is_here(); }
  RunLoop& loop() const { return run().loop(); }

  /// Throws std::runtime_error once it is closed.
  Run& run() const {
    if (run_ == nullptr) throw std::runtime_error("the run is closed");
    return *run_;
  }

 protected:
  /// f() when no other call works on the run.
  template <typename F>
  std::invoke_result_t<F> work(F f, bool is_step = false) {
    owner_.check();
    return without_lock(true, [&] { return in_turn(f, is_step); });
  }

  /// The same, also from a function that a step of this thread calls. Computes no gradient.
  template <typename F>
  std::invoke_result_t<F> work_within(F f) {
    owner_.check();
    return without_lock(false, [&] { return turns_.is_mine() ? f() : in_turn(f, false); });
  }

 private:
  template <typename F>
  std::invoke_result_t<F> in_turn(F f, bool is_step) {
    turns_.begin(is_step);
    const std::unique_ptr<RunTurns, void (*)(RunTurns*)> turn(&turns_, [](RunTurns* t) { t->end(); });
    return f();
  }

  Owner owner_;
  RunTurns turns_;
  std::unique_ptr<Run> run_;
};

/// What a function that samples for a step is asked for: this process's share of the step.
struct DrawnShare {
  std::vector<int64_t> sizes{};  ///< of its groups; empty: no function is at work
  RolloutAddress address{};      ///< where the engine would draw them

  /// As long as the function is at work.
  class AtWork {
   public:
    AtWork(DrawnShare& share, const std::vector<int64_t>& sizes, const RolloutAddress& address)
        : share_(share) {
      share = {sizes, address};
    }
    ~AtWork() { share_ = {}; }
    AtWork(const AtWork&) = delete;
    AtWork& operator=(const AtWork&) = delete;

   private:
    DrawnShare& share_;
  };

  /// Moves the draws of `count` prompts to where the engine would draw the share: its groups, or its
  /// completions one by one. Other counts stay.
  void place(int64_t count, RolloutAddress& drawn) const;
};

/// A run of GRPO, whose engine Python may ask for more completions.
class PythonGrpoRun : public PythonRun {
 public:
  /// `drawn` is filled while a function samples.
  PythonGrpoRun(std::unique_ptr<GrpoRun> run, std::shared_ptr<const DrawnShare> drawn)
      : PythonRun(std::move(run)), drawn_(std::move(drawn)) {}

  /// The same with `num_generations` completions of each prompt.
  pybind11::dict evaluate_on(const std::vector<std::string>& files, int64_t num_generations);

  /// Completions by the weights as they are, also while a function samples for a step; the address of their
  /// random numbers has the run's seed if `keys` name none.
  pybind11::list generate(const pybind11::list& prompts, const pybind11::dict& keys, int64_t step);

 private:
  GrpoRun& grpo() const { return static_cast<GrpoRun&>(run()); }

  std::shared_ptr<const DrawnShare> drawn_;
};

pybind11::dict metrics_dict(const Metrics& metrics);

}  // namespace cohort::python
