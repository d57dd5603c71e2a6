// The module `cohort._cohort.trainer`: runs whose steps Python takes one by one, and rewards that are Python
// functions. python/cohort/trainer calls it. The engine works without Python's global lock.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cohort/core/error.h"
#include "cohort/models/pretrained.h"
#include "cohort/train/grpo/grpo_run.h"
#include "cohort/train/preference/dpo_run.h"
#include "cohort/train/reward/reward_run.h"
#include "cohort/train/run/lora_start.h"
#include "cohort/train/supervised/sft_run.h"
#include "python/modules.h"
#include "python/own_functions.h"
#include "python/shared_function.h"

namespace py = pybind11;

namespace cohort::python {
namespace {

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
    const py::gil_scoped_acquire lock;
    py::list arguments;
    for (const RewardRow& row : rows)
      arguments.append(py::make_tuple(row.prompt.id, row.completion.text, row.completion.token_ids));
    std::vector<RewardResult> results;
    for (const py::handle value : (*function_)(arguments)) results.push_back(read_result(value));
    return results;
  }

  int64_t num_workers() const override { return 0; }

 private:
  SharedFunction function_;
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

OwnFunctions own_functions(const py::object& loss, const py::object& advantages) {
  OwnFunctions own;
  if (!loss.is_none()) own.loss = loss_function(loss);
  if (!advantages.is_none()) own.advantages = advantage_function(advantages);
  return own;
}

/// The recipe in a file, with what its preset, its loss_type and its adapter stand for.
template <typename Config>
Config read_recipe(const std::string& path) {
  Config given, config;
  apply_toml_file(settings_of(given), path);
  if constexpr (requires { given.lora; }) {
    if (!given.lora.path.empty()) take_adapter_settings(config.lora, given.lora.path);
  }
  if constexpr (std::is_same_v<Config, TrainConfig>) config.apply_preset(given);
  apply_toml_file(settings_of(config), path);
  if constexpr (std::is_same_v<Config, TrainConfig>) config.objective.loss.loss_type = "none";
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

/// A run and what Python does with it.
class PythonRun {
 public:
  explicit PythonRun(std::unique_ptr<Run> run) : run_(std::move(run)) {}

  /// As the program runs. An exception of a function leaves a checkpoint of the steps before.
  int run_to_end() {
    try {
      return run_->run();
    } catch (const py::error_already_set&) {
      if (loop().step() > 0) loop().save();
      throw;
    }
  }

  void begin() {
    loop().hide_progress();
    loop().begin();
  }

  Run& run() { return *run_; }
  RunLoop& loop() { return run_->loop(); }

 private:
  std::unique_ptr<Run> run_;
};

std::unique_ptr<PythonRun> open_grpo(const std::string& recipe, bool resume, const py::dict& functions,
                                     const py::object& loss, const py::object& advantages,
                                     std::vector<std::string> accept_changed) {
  const RewardTypes rewards = function_rewards(functions);
  OwnFunctions own = own_functions(loss, advantages);
  const py::gil_scoped_release unlocked;
  const ResumeOptions options{.resume = resume, .accept_changed = std::move(accept_changed)};
  return std::make_unique<PythonRun>(
      std::make_unique<GrpoRun>(read_recipe<TrainConfig>(recipe), options, rewards, std::move(own)));
}

template <typename KindOfRun, typename Config>
std::unique_ptr<PythonRun> open_run(const std::string& recipe, bool resume) {
  return std::make_unique<PythonRun>(std::make_unique<KindOfRun>(
      read_recipe<Config>(recipe), ResumeOptions{.resume = resume, .accept_changed = {}}));
}

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
  using released = py::call_guard<py::gil_scoped_release>;
  add_report(module);
  module.def("reward_types", [] {
    std::vector<std::string> names;
    for (const RewardType& type : all_rewards({})) names.push_back(type.name);
    return names;
  });
  py::class_<PythonRun>(module, "Run")
      .def("run", &PythonRun::run_to_end, released())
      .def("begin", &PythonRun::begin, released())
      .def(
          "take_step", [](PythonRun& run) { return run.loop().take_step(); }, released())
      .def(
          "evaluate", [](PythonRun& run, StepReport& report) { run.loop().evaluate(report); }, released())
      .def(
          "end_step", [](PythonRun& run, const StepReport& report) { run.loop().end_step(report); },
          released())
      .def(
          "save", [](PythonRun& run) { return run.loop().save(); }, released())
      .def(
          "finish", [](PythonRun& run) { run.run().finish(); }, released())
      .def(
          "save_model", [](PythonRun& run, const std::string& directory) { run.run().save_model(directory); },
          released())
      .def_property_readonly("goes_on", [](PythonRun& run) { return run.loop().goes_on(); })
      .def_property_readonly("step", [](PythonRun& run) { return run.loop().step(); })
      .def_property_readonly("max_steps", [](PythonRun& run) { return run.loop().max_steps(); })
      .def_property_readonly("weights",
                             [](PythonRun& run) { return to_dict(run.run().model().named_weights()); })
      .def_property_readonly("adapter_weights",
                             [](PythonRun& run) { return to_dict(run.run().model().adapter_weights()); });
  module.def("grpo_run", &open_grpo, py::arg("recipe"), py::arg("resume"), py::arg("functions"),
             py::arg("loss") = py::none(), py::arg("advantages") = py::none(),
             py::arg("accept_changed") = std::vector<std::string>());
  module.def("sft_run", &open_run<SftRun, SftConfig>, released(), py::arg("recipe"), py::arg("resume"));
  module.def("dpo_run", &open_run<DpoRun, DpoConfig>, released(), py::arg("recipe"), py::arg("resume"));
  module.def("reward_run", &open_run<RewardRun, RewardTrainConfig>, released(), py::arg("recipe"),
             py::arg("resume"));
}

}  // namespace cohort::python
