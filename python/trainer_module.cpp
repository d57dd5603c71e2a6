// The module `cohort._cohort.trainer`: runs whose steps Python takes one by one. python/cohort/trainer calls
// it.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cohort/models/pretrained.h"
#include "cohort/train/grpo/grpo_run.h"
#include "cohort/train/preference/dpo_run.h"
#include "cohort/train/reward/reward_run.h"
#include "cohort/train/run/lora_start.h"
#include "cohort/train/supervised/sft_run.h"
#include "python/batch_reader.h"
#include "python/calls.h"
#include "python/modules.h"
#include "python/own_functions.h"
#include "python/processes.h"
#include "python/python_environment.h"
#include "python/python_run.h"
#include "python/reward_functions.h"
#include "python/shared_function.h"
#include "python/tensor_memory.h"

namespace py = pybind11;

namespace cohort::python {
namespace {

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

/// The function gets a list of (prompt id, number of completions) and returns a list of cohort.Group. While
/// it is at work, `drawn` says what it draws.
RolloutFunction rollout_function(const SharedFunction& function,
                                 const std::shared_ptr<const DecoderConfig>& model,
                                 const std::shared_ptr<DrawnShare>& drawn) {
  return [function, model, drawn](const std::vector<Prompt>& prompts, const std::vector<int64_t>& sizes,
                                  const RolloutAddress& address) {
    check_not_ending();
    const DrawnShare::AtWork at_work(*drawn, sizes, address);
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

/// Each of the last four is None, or in the engine's or the recipe's place.
std::unique_ptr<PythonGrpoRun> open_grpo(const std::string& recipe, bool resume, const py::dict& functions,
                                         std::vector<std::string> accept_changed, const py::object& rollout,
                                         const py::object& loss, const py::object& advantages,
                                         const py::object& environment) {
  CallersFunctions callers{.rewards = function_rewards(functions), .read_weights = true};
  if (!environment.is_none()) callers.environment = python_environment(environment);
  if (!loss.is_none()) callers.own.loss = loss_function(loss);
  if (!advantages.is_none()) callers.own.advantages = advantage_function(advantages);
  const SharedFunction sampler = rollout.is_none() ? nullptr : share(rollout);
  const ResumeOptions options{.resume = resume, .accept_changed = std::move(accept_changed)};
  hold_tensors_by_tcmalloc();
  return without_lock(true, [&] {
    const auto config = read_recipe<TrainConfig>(recipe);
    const auto drawn = std::make_shared<DrawnShare>();
    if (sampler != nullptr) {
      callers.rollout = rollout_function(
          sampler, std::make_shared<const DecoderConfig>(read_decoder_config(config.model.path)), drawn);
    }
    return std::make_unique<PythonGrpoRun>(
        std::make_unique<GrpoRun>(config, options, std::move(callers), processes()), drawn);
  });
}

template <typename KindOfRun, typename Config>
std::unique_ptr<PythonRun> open_run(const std::string& recipe, bool resume) {
  hold_tensors_by_tcmalloc();
  return without_lock(true, [&] {
    return std::make_unique<PythonRun>(std::make_unique<KindOfRun>(
        read_recipe<Config>(recipe), ResumeOptions{.resume = resume, .accept_changed = {}}));
  });
}

void add_report(py::module_& module) {
  py::class_<StepReport>(module, "StepReport")
      .def(py::init<>())
      .def_property_readonly("metrics", [](const StepReport& report) { return metrics_dict(report.metrics); })
      .def_property_readonly("timings", [](const StepReport& report) { return metrics_dict(report.timings); })
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

void add_runs(py::module_& module) {
  py::class_<PythonRun>(module, "Run")
      .def("run", &PythonRun::run_to_end)
      .def("begin", &PythonRun::begin)
      .def("take_step", &PythonRun::take_step)
      .def("evaluate", &PythonRun::evaluate)
      .def("evaluate_on", &PythonRun::evaluate_on, py::arg("files"))
      .def("end_step", &PythonRun::end_step)
      .def("save", &PythonRun::save)
      .def("finish", &PythonRun::finish)
      .def("close", &PythonRun::close)
      .def("save_model", &PythonRun::save_model)
      .def("load_model", &PythonRun::take_weights)
      .def_property_readonly("is_forked", &PythonRun::is_forked)
      .def_property_readonly("goes_on", [](const PythonRun& run) { return run.loop().goes_on(); })
      .def_property_readonly("step", [](const PythonRun& run) { return run.loop().step(); })
      .def_property_readonly("max_steps", [](const PythonRun& run) { return run.loop().max_steps(); })
      .def_property_readonly("weights",
                             [](const PythonRun& run) { return to_dict(run.run().model().named_weights()); })
      .def_property_readonly("adapter_weights", [](const PythonRun& run) {
        return to_dict(run.run().model().adapter_weights());
      });
  py::class_<PythonGrpoRun, PythonRun>(module, "GrpoRun")
      .def("evaluate_on", &PythonGrpoRun::evaluate_on, py::arg("files"), py::arg("num_generations"))
      .def("generate", &PythonGrpoRun::generate, py::arg("prompts"), py::arg("keys"), py::arg("step"));
}

}  // namespace

void add_trainer(py::module_ module) {
  add_processes(module);
  add_report(module);
  add_runs(module);
  module.def("reward_types", [] {
    std::vector<std::string> names;
    for (const RewardType& type : all_rewards({})) names.push_back(type.name);
    return names;
  });
  module.def("grpo_run", &open_grpo, py::arg("recipe"), py::arg("resume"), py::arg("functions"),
             py::arg("accept_changed") = std::vector<std::string>(), py::arg("rollout") = py::none(),
             py::arg("loss") = py::none(), py::arg("advantages") = py::none(),
             py::arg("environment") = py::none());
  module.def("sft_run", &open_run<SftRun, SftConfig>, py::arg("recipe"), py::arg("resume"));
  module.def("dpo_run", &open_run<DpoRun, DpoConfig>, py::arg("recipe"), py::arg("resume"));
  module.def("reward_run", &open_run<RewardRun, RewardTrainConfig>, py::arg("recipe"), py::arg("resume"));
}

}  // namespace cohort::python
