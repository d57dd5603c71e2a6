// The module `cohort._cohort.engine`. What the arguments mean is written in python/cohort/engine.py. The
// engine works without Python's global lock.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include <cmath>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "cohort/core/error.h"
#include "cohort/objectives/objective_config.h"
#include "cohort/train/run/lora_start.h"
#include "python/batch_reader.h"
#include "python/batch_writer.h"
#include "python/calls.h"
#include "python/modules.h"
#include "python/own_functions.h"
#include "python/policy_engine.h"
#include "python/settings.h"
#include "python/tensor_memory.h"

namespace py = pybind11;

namespace cohort::python {
namespace {

/// The caller's turn on an engine; std::runtime_error while another call has it.
class Turn {
 public:
  explicit Turn(PolicyEngine& engine) : engine_(engine) {
    if (engine_.is_busy().test_and_set()) throw std::runtime_error("the engine is busy with another call");
  }
  ~Turn() { engine_.is_busy().clear(); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  PolicyEngine& engine_;
};

template <typename F>
auto alone(PolicyEngine& engine, bool has_gradient, F f) {
  const Turn turn(engine);
  return without_lock(has_gradient, f);
}

py::dict to_dict(const Metrics& metrics) {
  py::dict dict;
  for (const auto& [name, value] : metrics) dict[py::str(name)] = value;
  return dict;
}

std::shared_ptr<PolicyEngine> load(const std::string& model_dir, const py::dict& keys, const py::dict& lora,
                                   const py::dict& optimizer) {
  EngineSettings settings;
  settings.model.path = model_dir;
  set_keys(settings_of(settings), keys);
  if (lora.contains("path")) take_adapter_settings(settings.lora, text_of("lora.path", lora["path"]));
  set_keys(settings_of(settings.lora), lora);
  set_keys(settings.optimizer_keys(), optimizer);
  hold_tensors_by_tcmalloc();
  return without_lock(false, [&] { return std::make_shared<PolicyEngine>(std::move(settings)); });
}

py::list generate(PolicyEngine& engine, const py::list& prompts, const py::dict& keys, int64_t step) {
  SamplingSettings settings;
  set_keys(settings_of(settings), keys);
  const TextSide* text = engine.text().get();
  const SamplingParams params =
      sampling_params(settings, engine.model(), text != nullptr ? text->tokenizer.get() : nullptr);
  std::vector<Prompt> read;
  for (const py::handle prompt : prompts)
    read.push_back(
        read_prompt(prompt, text != nullptr ? &text->format : nullptr, str("prompts[", read.size(), "]")));
  RolloutAddress address;
  address.seed = static_cast<uint64_t>(settings.seed.value_or(engine.settings().seed));
  address.step = static_cast<uint64_t>(step);
  return to_python(alone(engine, false,
                         [&] { return engine.generate(read, settings.n, params, address, &check_signals); }));
}

py::list logprobs_of(const ScoringPass& pass, const py::handle& given) {
  GivenBatch batch = read_token_ids(given, pass.model());
  without_lock(false, [&] { pass.fill_logprobs(batch.groups, batch.temperature, &check_signals); });
  return column_to_python(batch.groups, &Sample::ref_logprobs);
}

py::list entropies_of(const ScoringPass& pass, const py::handle& given) {
  GivenBatch batch = read_token_ids(given, pass.model());
  without_lock(false, [&] { pass.fill_entropies(batch.groups, batch.temperature, &check_signals); });
  return column_to_python(batch.groups, &Sample::entropies);
}

/// As a recipe's objective is resolved. Throws ConfigError for one that trains a critic.
LossConfig loss_config(const std::string& preset, const py::dict& keys) {
  ObjectiveConfig objective;
  static_cast<ObjectiveSettings&>(objective) = read_settings(preset, keys);
  const LossConfig config = resolved(objective, 0).loss;
  if (config.value_coef != 0.0) throw ConfigError("value_coef needs a critic, which the engine has not");
  return config;
}

py::dict forward_backward(PolicyEngine& engine, const py::handle& given, const std::string& preset,
                          const py::dict& keys) {
  const LossConfig objective = loss_config(preset, keys);
  const GivenBatch batch = read_batch(given, engine.model());
  return to_dict(alone(engine, true, [&] {
    return engine.forward_backward(batch.groups, objective, batch.temperature, &check_signals);
  }));
}

py::dict forward_backward_by(PolicyEngine& engine, const py::handle& given, const py::function& loss) {
  const GivenBatch batch = read_batch(given, engine.model());
  const LossFunction by_python = loss_function(loss);
  return to_dict(alone(engine, true, [&] {
    return engine.forward_backward(batch.groups, {}, batch.temperature, &check_signals, by_python);
  }));
}

py::dict optim_step(PolicyEngine& engine, double learning_rate) {
  if (!std::isfinite(learning_rate) || learning_rate < 0.0)
    throw UserError(str("lr is ", learning_rate, ", but must be at least 0"));
  return to_dict(alone(engine, false, [&] { return engine.optim_step(learning_rate); }));
}

/// Refuses what a SamplingParams must not be given, before there is a model.
void check_sampling_keys(const py::dict& keys) {
  SamplingSettings settings;
  set_keys(settings_of(settings), keys);
  check_sampling(settings);
}

class TokenizerHandle {
 public:
  explicit TokenizerHandle(std::shared_ptr<const TextSide> text) : text_(std::move(text)) {}

  std::vector<int32_t> encode(const std::string& text, bool add_special_tokens) const {
    return tokenizer().encode(text, {.add_special_tokens = add_special_tokens});
  }

  std::string decode(const py::handle& ids, bool skip_special_tokens) const {
    return tokenizer().decode(read_ids(ids, "token_ids"), {.skip_special_tokens = skip_special_tokens});
  }

  std::string render(const py::handle& messages, const py::handle& tools, bool add_generation_prompt,
                     bool continue_final_message, const py::dict& variables) const {
    if (!py::isinstance<py::list>(messages) || py::len(messages) == 0)
      throw py::type_error("messages must be a list of messages");
    RenderOptions options;
    options.add_generation_prompt = add_generation_prompt;
    options.continue_final_message = continue_final_message;
    options.tools = read_json_value(tools, "tools");
    options.chat_template_kwargs = read_json_value(variables, "chat_template_kwargs");
    return text_->format.render(read_json_value(messages, "messages"), options);
  }

  const Tokenizer& tokenizer() const { return *text_->tokenizer; }

 private:
  std::shared_ptr<const TextSide> text_;
};

void add_tokenizer(py::module_& module) {
  py::class_<TokenizerHandle, std::shared_ptr<TokenizerHandle>>(module, "Tokenizer")
      .def("encode", &TokenizerHandle::encode)
      .def("decode", &TokenizerHandle::decode)
      .def("render", &TokenizerHandle::render)
      .def_property_readonly("vocab_size",
                             [](const TokenizerHandle& t) { return t.tokenizer().vocab_size(); })
      .def_property_readonly("eos_token_id",
                             [](const TokenizerHandle& t) { return t.tokenizer().eos_token_id(); })
      .def("token_id",
           [](const TokenizerHandle& t, const std::string& s) { return t.tokenizer().token_id(s); });
}

void add_scoring(py::module_& module) {
  py::class_<ScoringPass, std::shared_ptr<ScoringPass>>(module, "Snapshot")
      .def("logprobs", &logprobs_of)
      .def("entropies", &entropies_of);
}

py::list logprobs_now(PolicyEngine& engine, const py::handle& batch) {
  const Turn turn(engine);
  return logprobs_of(engine.current(), batch);
}

py::list entropies_now(PolicyEngine& engine, const py::handle& batch) {
  const Turn turn(engine);
  return entropies_of(engine.current(), batch);
}

std::shared_ptr<ScoringPass> snapshot(PolicyEngine& engine, bool with_adapters) {
  return alone(engine, false, [&] { return std::make_shared<ScoringPass>(engine.snapshot(with_adapters)); });
}

double difference(PolicyEngine& engine) {
  return alone(engine, false, [&] { return engine.sampler_trainer_difference(); });
}

void zero_grad(PolicyEngine& engine) {
  alone(engine, false, [&] { engine.zero_grad(); });
}

void save(PolicyEngine& engine, const std::string& directory) {
  alone(engine, false, [&] { engine.save(directory); });
}

std::shared_ptr<TokenizerHandle> tokenizer(const PolicyEngine& engine) {
  return engine.text() == nullptr ? nullptr : std::make_shared<TokenizerHandle>(engine.text());
}

void add_policy_engine(py::module_& module) {
  py::class_<PolicyEngine, std::shared_ptr<PolicyEngine>>(module, "PolicyEngine")
      .def_static("load", &load)
      .def("generate", &generate)
      .def("logprobs", &logprobs_now)
      .def("entropies", &entropies_now)
      .def("snapshot", &snapshot)
      .def("forward_backward", &forward_backward)
      .def("forward_backward_by", &forward_backward_by)
      .def("optim_step", &optim_step)
      .def("zero_grad", &zero_grad)
      .def("save", &save)
      .def("sampler_trainer_difference", &difference)
      .def_property_readonly("tokenizer", &tokenizer)
      .def_property_readonly("num_updates", &PolicyEngine::num_updates)
      .def_property_readonly("dtype",
                             [](const PolicyEngine& engine) { return engine.settings().model.dtype; })
      .def_property_readonly("context_length",
                             [](const PolicyEngine& engine) { return engine.model().context_length; })
      .def_property_readonly("vocab_size",
                             [](const PolicyEngine& engine) { return engine.model().vocab_size; });
}

}  // namespace

void add_engine(py::module_ module) {
  add_tokenizer(module);
  add_scoring(module);
  add_policy_engine(module);
  module.def("check_sampling", &check_sampling_keys);
}

}  // namespace cohort::python
