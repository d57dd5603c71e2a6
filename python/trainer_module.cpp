// The module `cohort._cohort.trainer`: a run of GRPO whose steps Python takes one by one, and rewards that
// are Python functions. python/cohort/trainer calls it
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>
#include <unistd.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "cohort/core/error.h"
#include "cohort/models/adapter.h"
#include "cohort/models/pretrained.h"
#include "cohort/train/grpo/grpo_run.h"
#include "cohort/train/run/lora_start.h"
#include "python/calls.h"
#include "python/modules.h"

namespace py = pybind11;

namespace cohort::python {
namespace {

/// A Python function that may be copied and destroyed without the global lock.
using SharedFunction = std::shared_ptr<const py::function>;

SharedFunction share(py::function function) {
  return {new py::function(std::move(function)), [](const py::function* last) {
            const py::gil_scoped_acquire lock;
            delete last;
          }};
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

/// What the function says of a row: a number, None for a row that it does not apply to, or why it failed.
RewardResult read_result(const py::handle& value) {
  if (value.is_none()) return {0.0, RewardStatus::kSkipped, "the function has no reward for the row"};
  if (py::isinstance<py::str>(value)) return {0.0, RewardStatus::kError, value.cast<std::string>()};
  return {value.cast<double>(), RewardStatus::kOk, ""};
}

/// Scores all completions of a step in one call, on the thread that takes the step.
class FunctionReward : public Reward {
 public:
  explicit FunctionReward(SharedFunction function) : function_(std::move(function)) {}

  RewardResult score(const Prompt& prompt, const Completion& completion) override {
    const RewardRow row{prompt, completion};
    return score_batch({&row, 1}).front();
  }

  std::vector<RewardResult> score_batch(std::span<const RewardRow> rows) override {
    check_not_ending();
    const py::gil_scoped_acquire lock;
    py::list arguments;
    for (const RewardRow& row : rows)
      arguments.append(py::make_tuple(row.prompt.id, row.completion.text, row.completion.token_ids));
    std::vector<RewardResult> results;
    for (const py::handle value : (*function_)(arguments)) results.push_back(read_result(value));
    owner_.check();
    return results;
  }

  int64_t num_workers() const override { return 0; }

 private:
  SharedFunction function_;
  Owner owner_;
};

/// The type `callable`: the function that has the table's name.
RewardTypes function_rewards(const py::dict& functions) {
  auto shared = std::make_shared<std::map<std::string, SharedFunction>>();
  for (const auto& [name, function] : functions)
    (*shared)[name.cast<std::string>()] = share(py::reinterpret_borrow<py::function>(function));
  const auto make = [shared](const RewardConfig& config) -> std::unique_ptr<Reward> {
    const auto found = shared->find(config.name);
    if (found == shared->end())
      throw ConfigError(
          str("reward ", config.name, ": type = \"callable\" is for functions of Python alone"));
    return std::make_unique<FunctionReward>(found->second);
  };
  return {{"callable", "What a function of the Python program returns.", {make}}};
}

/// The recipe in a file, with what its preset and its loss_type stand for.
TrainConfig read_recipe(const std::string& path) {
  TrainConfig given, config;
  apply_toml_file(settings_of(given), path);
  if (!given.lora.path.empty()) take_adapter_settings(config.lora, given.lora.path);
  config.apply_preset(given);
  apply_toml_file(settings_of(config), path);
  config.objective.loss.loss_type = "none";
  return config;
}

py::dict to_dict(const NamedTensors& tensors) {
  py::dict dict;
  for (const auto& [name, tensor] : tensors) dict[py::str(name)] = tensor;
  return dict;
}

py::dict to_dict(const Metrics& metrics) {
  py::dict dict;
  for (const auto& [name, value] : metrics) dict[py::str(name)] = value;
  return dict;
}

/// A run and what Python does with it, in one thread at a time. Its calls work without the global lock.
class PythonRun {
 public:
  PythonRun(const std::string& recipe, const ResumeOptions& options, const RewardTypes& rewards)
      : run_(std::make_unique<GrpoRun>(read_recipe(recipe), options, rewards)) {
    loop().hide_progress();
  }

  /// In a forked child the run is left as it is: its end would end the parent's reward processes, too.
  ~PythonRun() {
    if (!owner_.is_here()) run_.release();
  }
  PythonRun(const PythonRun&) = delete;
  PythonRun& operator=(const PythonRun&) = delete;

  void begin() {
    work([&] { loop().begin(); });
  }

  /// The next step. After an exception of a reward function the run is where it was before the step.
  StepReport take_step() {
    return work(
        [&] {
          const Json before = run().trainer().save();
          try {
            return loop().take_step();
          } catch (...) {
            run().trainer().load(before);
            throw;
          }
        },
        /*is_step=*/true);
  }

  void evaluate(StepReport& report) {
    work([&] { loop().evaluate(report); });
  }

  void end_step(const StepReport& report) {
    work([&] { loop().end_step(report); });
  }

  void save() {
    work([&] { loop().save(); });
  }

  void finish() {
    work([&] { run().finish(); });
  }

  /// Ends the run: another one may open its directory. Whatever a traceback still holds keeps nothing open.
  void close() {
    work([&] { run_.reset(); });
  }

  /// Writes the model, or its adapters, as it is now into a new directory.
  void save_model(const std::string& directory) {
    work([&] {
      const ModelConfig& source = run().config().model;
      save_trained(policy(), source.path, directory, source.chat_template);
    });
  }

  bool is_forked() const { return !owner_.is_here(); }
  RunLoop& loop() const { return run().loop(); }
  Decoder& policy() const { return run().policy(); }

 private:
  GrpoRun& run() const {
    if (run_ == nullptr) throw std::runtime_error("the run is closed");
    return *run_;
  }

  /// f() when no other call works on the run.
  template <typename F>
  std::invoke_result_t<F> work(F f, bool is_step = false) {
    owner_.check();
    return without_lock(true, [&] {
      turns_.begin(is_step);
      const std::unique_ptr<RunTurns, void (*)(RunTurns*)> turn(&turns_, [](RunTurns* t) { t->end(); });
      return f();
    });
  }

  Owner owner_;
  RunTurns turns_;
  std::unique_ptr<GrpoRun> run_;
};

void add_report(py::module_& module) {
  py::class_<StepReport>(module, "StepReport")
      .def(py::init<>())
      .def_property_readonly("metrics", [](const StepReport& report) { return to_dict(report.metrics); })
      .def_property_readonly("timings", [](const StepReport& report) { return to_dict(report.timings); })
      .def_property_readonly("completions",
                             [](const StepReport& report) {
                               std::vector<std::string> rows;
                               for (const Json& row : report.completions) rows.push_back(row.dump());
                               return rows;
                             })
      .def("add_metric", [](StepReport& report, std::string name, double value) {
        report.metrics.emplace_back(std::move(name), value);
      });
}

}  // namespace

void add_trainer(py::module_ module) {
  add_report(module);
  module.def("reward_types", [] {
    std::vector<std::string> names;
    for (const RewardType& type : all_rewards({})) names.push_back(type.name);
    return names;
  });
  py::class_<PythonRun>(module, "GrpoRun")
      .def(py::init([](const std::string& recipe, const py::dict& functions, bool resume) {
             const RewardTypes rewards = function_rewards(functions);
             const ResumeOptions options{.resume = resume, .accept_changed = {}};
             return without_lock(true, [&] { return std::make_unique<PythonRun>(recipe, options, rewards); });
           }),
           py::arg("recipe"), py::arg("functions"), py::arg("resume"))
      .def("begin", &PythonRun::begin)
      .def("take_step", &PythonRun::take_step)
      .def("evaluate", &PythonRun::evaluate)
      .def("end_step", &PythonRun::end_step)
      .def("save", &PythonRun::save)
      .def("finish", &PythonRun::finish)
      .def("close", &PythonRun::close)
      .def("save_model", &PythonRun::save_model)
      .def_property_readonly("is_forked", &PythonRun::is_forked)
      .def_property_readonly("goes_on", [](const PythonRun& run) { return run.loop().goes_on(); })
      .def_property_readonly("step", [](const PythonRun& run) { return run.loop().step(); })
      .def_property_readonly("max_steps", [](const PythonRun& run) { return run.loop().max_steps(); })
      .def_property_readonly("weights",
                             [](const PythonRun& run) { return to_dict(run.policy().named_weights()); })
      .def_property_readonly("adapter_weights",
                             [](const PythonRun& run) { return to_dict(run.policy().adapter_weights()); });
}

}  // namespace cohort::python
