// Adapters of a decoder: which projections get them, and their leaves.
#include <ATen/CPUGeneratorImpl.h>

#include <cmath>

#include "cohort/core/error.h"
#include "cohort/models/decoder.h"
#include "cohort/models/decoder_layer.h"
#include "cohort/models/peft_names.h"

namespace cohort {

std::vector<LinearModule> Decoder::adaptable_modules() {
  std::vector<LinearModule> modules;
  for (const auto& layer : layers_) {
    for (LinearModule& module : layer->modules()) modules.push_back(std::move(module));
  }
  const char* head = config_.head == HeadKind::kCausalLm ? "lm_head" : "score";
  modules.push_back({head, &head_, 0, head_.out_features()});
  return modules;
}

void Decoder::add_leaf(const std::string& name, const at::Tensor& leaf) {
  leaf.set_requires_grad(true);
  parameters_.push_back(leaf);
  adapter_weights_.emplace_back(kPeftPrefix + name, leaf.detach());
}

/// Trains a module whole: a float32 copy that takes its place while the adapters are on.
void Decoder::save_module(const std::string& name) {
  const at::ScalarType master = compute_ == at::kDouble ? at::kDouble : at::kFloat;
  const auto leaf = [&](const at::Tensor& weight, const std::string& full_name) {
    const at::Tensor copy = weight.detach().to(master, /*non_blocking=*/false, /*copy=*/true);
    add_leaf(full_name, copy);
    return copy;
  };
  const bool is_lm = config_.head == HeadKind::kCausalLm;
  if (name == "embed_tokens") {
    saved_embedding_ = leaf(embedding_, "model.embed_tokens.weight");
  } else if (name == (is_lm ? "lm_head" : "score")) {
    const at::Tensor weight = leaf(head_.values(), name + ".weight");
    const at::Tensor bias = head_.bias().defined() ? leaf(head_.bias(), name + ".bias") : at::Tensor();
    saved_head_.emplace(weight, bias, compute_);
  } else {
    throw ConfigError(str("lora.modules_to_save: \"", name,
                          "\" is not supported; of this model embed_tokens and ", is_lm ? "lm_head" : "score",
                          " are"));
  }
}

void Decoder::adapt(const LoraConfig& config, uint64_t seed) {
  COHORT_CHECK(is_frozen_ && !is_adapted_, "only a frozen decoder is adapted, and once");
  const at::NoGradGuard no_grad;
  lora_config_ = config;
  is_adapted_ = true;
  const at::ScalarType dtype = compute_ == at::kDouble ? at::kDouble : at::kFloat;
  at::Generator generator = at::detail::createCPUGenerator(seed);
  std::vector<std::pair<Linear*, std::vector<LoraPart>>> adapted;
  uint64_t id = 0;
  for (const LinearModule& module : adaptable_modules()) {
    ++id;
    if (!is_targeted(config, module.name, module.linear == &head_)) continue;
    const LoraShape shape = lora_shape(config, module.name);
    const int64_t width = module.linear->weight().size(1);
    LoraPart part{
        .name = module.name, .row = module.row, .rows = module.rows, .scale = shape.scale, .id = id};
    // As nn.Linear starts: uniform within 1 / sqrt(in).
    const double bound = 1.0 / std::sqrt(static_cast<double>(width));
    part.a = at::empty({shape.r, width}, at::kFloat).uniform_(-bound, bound, generator).to(device(), dtype);
    part.b = at::zeros({module.rows, shape.r}, at::TensorOptions(device()).dtype(dtype));
    add_leaf(module.name + ".lora_A.weight", part.a);
    add_leaf(module.name + ".lora_B.weight", part.b);
    if (config.use_dora) {
      const at::Tensor weight = module.linear->values().narrow(0, module.row, module.rows);
      part.magnitude = adapted_row_norms(weight, part, Linear(part.b, {}, dtype));
      add_leaf(module.name + ".lora_magnitude_vector", part.magnitude);
    }
    if (adapted.empty() || adapted.back().first != module.linear) adapted.push_back({module.linear, {}});
    adapted.back().second.push_back(std::move(part));
  }
  if (adapted.empty()) {
    throw ConfigError(
        "lora.target_modules fits no module of the model; its projections are q_proj, k_proj, v_proj, "
        "o_proj, gate_proj, up_proj, down_proj and the head");
  }
  if (config.dropout > 0.0 && adapted.back().first == &head_) {
    throw ConfigError(
        "lora.dropout does not go with adapters of the head: take it out of lora.target_modules, or set "
        "lora.dropout = 0");
  }
  for (auto& [linear, parts] : adapted) linear->adapt(std::make_shared<Lora>(std::move(parts)));
  for (const std::string& name : config.modules_to_save) save_module(name);
}

}  // namespace cohort
