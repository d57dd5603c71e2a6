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
#include "cohort/sampler/sampler.h"
#include "cohort/train/grpo/grpo_run.h"
#include "cohort/train/preference/dpo_run.h"
#include "cohort/train/reward/reward_run.h"
#include "cohort/train/run/lora_start.h"
#include "cohort/train/supervised/sft_run.h"
#include "python/batch_reader.h"
#include "python/engine_settings.h"
#include "python/modules.h"
#include "python/settings.h"

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
  explicit PythonRun(std::unique_ptr<Run> run) : run_(std::move(run)) { loop().hide_progress(); }

  /// The next step. After an exception of a reward function the run is where it was before the step.
  StepReport take_step() {
    const Json before = run_->trainer().save();
    try {
      return loop().take_step();
    } catch (...) {
      run_->trainer().load(before);
      throw;
    }
  }

  Run& run() { return *run_; }
  RunLoop& loop() { return run_->loop(); }

 private:
  std::unique_ptr<Run> run_;
};

/// A run of GRPO, whose engine Python may ask for more completions.
class PythonGrpoRun : public PythonRun {
 public:
  explicit PythonGrpoRun(std::unique_ptr<GrpoRun> run) : PythonRun(std::move(run)) {}

  GrpoRun& grpo() { return static_cast<GrpoRun&>(run()); }

  py::dict evaluate_on(const std::vector<std::string>& files, int64_t num_generations) {
    Metrics metrics;
    {
      const py::gil_scoped_release unlocked;
      metrics = grpo().evaluate_on(files, num_generations);
    }
    return to_dict(metrics);
  }

  /// Completions by the weights as they are; the address of their random numbers has the run's seed if the
  /// keys name none.
  py::list generate(const py::list& prompts, const py::dict& keys, int64_t step) {
    SamplingSettings settings;
    set_keys(settings_of(settings), keys);
    const Tokenizer& tokenizer = grpo().tokenizer();
    const SamplingParams params = sampling_params(settings, grpo().model().config(), &tokenizer);
    std::vector<Prompt> read;
    for (const py::handle prompt : prompts)
      read.push_back(read_prompt(prompt, &grpo().prompt_format(), str("prompts[", read.size(), "]")));
    RolloutAddress address;
    address.seed = static_cast<uint64_t>(settings.seed.value_or(grpo().config().seed));
    address.step = static_cast<uint64_t>(step);
    std::vector<Group> groups;
    {
      const py::gil_scoped_release unlocked;
      Sampler sampler(grpo().model(), &tokenizer, grpo().config().rollout.cache_tokens);
      groups = sampler.rollout(read, settings.n, params, address);
    }
    return to_python(groups);
  }
};

/// The function gets a list of (prompt id, number of completions) and returns a list of cohort.Group.
RolloutFunction rollout_function(const SharedFunction& function,
                                 const std::shared_ptr<const DecoderConfig>& model) {
  return [function, model](const std::vector<Prompt>& prompts, const std::vector<int64_t>& sizes) {
    const py::gil_scoped_acquire lock;
    py::list rows;
    for (size_t i = 0; i < prompts.size(); ++i) rows.append(py::make_tuple(prompts[i].id, sizes[i]));
    const py::object given = (*function)(rows);
    std::vector<Group> groups = read_batch(given, *model).groups;
    size_t g = 0;
    for (const py::handle group : given) {
      size_t i = 0;
      for (const py::handle completion : group.attr("completions"))
        groups[g].samples[i++].completion.text = completion.attr("text").cast<std::string>();
      ++g;
    }
    return groups;
  };
}

/// `rollout`: None, or what samples in the engine's place.
std::unique_ptr<PythonGrpoRun> open_grpo(const std::string& recipe, bool resume, const py::dict& functions,
                                         const py::object& rollout) {
  const RewardTypes rewards = function_rewards(functions);
  const SharedFunction sampler =
      rollout.is_none() ? nullptr : share(py::reinterpret_borrow<py::function>(rollout));
  const py::gil_scoped_release unlocked;
  const auto config = read_recipe<TrainConfig>(recipe);
  RolloutFunction function;
  if (sampler != nullptr) {
    function = rollout_function(
        sampler, std::make_shared<const DecoderConfig>(read_decoder_config(config.model.path)));
  }
  return std::make_unique<PythonGrpoRun>(std::make_unique<GrpoRun>(
      config, ResumeOptions{.resume = resume, .accept_changed = {}}, rewards, std::move(function)));
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
      .def(
          "begin", [](PythonRun& run) { run.loop().begin(); }, released())
      .def("take_step", &PythonRun::take_step, released())
      .def(
          "evaluate", [](PythonRun& run, StepReport& report) { run.loop().evaluate(report); }, released())
      .def(
          "end_step", [](PythonRun& run, const StepReport& report) { run.loop().end_step(report); },
          released())
      .def(
          "save", [](PythonRun& run) { run.loop().save(); }, released())
      .def(
          "finish", [](PythonRun& run) { run.run().finish(); }, released())
      .def(
          "save_model", [](PythonRun& run, const std::string& directory) { run.run().save_model(directory); },
          released())
      .def(
          "load_model",
          [](PythonRun& run, const std::string& directory) { run.run().take_weights(directory); }, released())
      .def_property_readonly("goes_on", [](PythonRun& run) { return run.loop().goes_on(); })
      .def_property_readonly("step", [](PythonRun& run) { return run.loop().step(); })
      .def_property_readonly("max_steps", [](PythonRun& run) { return run.loop().max_steps(); })
      .def_property_readonly("weights",
                             [](PythonRun& run) { return to_dict(run.run().model().named_weights()); })
      .def_property_readonly("adapter_weights",
                             [](PythonRun& run) { return to_dict(run.run().model().adapter_weights()); });
  py::class_<PythonGrpoRun, PythonRun>(module, "GrpoRun")
      .def("evaluate_on", &PythonGrpoRun::evaluate_on, py::arg("files"), py::arg("num_generations"))
      .def("generate", &PythonGrpoRun::generate, py::arg("prompts"), py::arg("keys"), py::arg("step"));
  module.def("grpo_run", &open_grpo, py::arg("recipe"), py::arg("resume"), py::arg("functions"),
             py::arg("rollout") = py::none());
  module.def("sft_run", &open_run<SftRun, SftConfig>, released(), py::arg("recipe"), py::arg("resume"));
  module.def("dpo_run", &open_run<DpoRun, DpoConfig>, released(), py::arg("recipe"), py::arg("resume"));
  module.def("reward_run", &open_run<RewardRun, RewardTrainConfig>, released(), py::arg("recipe"),
             py::arg("resume"));
}

}  // namespace cohort::python
