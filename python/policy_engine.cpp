#include "python/policy_engine.h"

#include <cerrno>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "cohort/core/error.h"
#include "cohort/core/file_error.h"
#include "cohort/core/time_text.h"
#include "cohort/models/adapter.h"
#include "cohort/ops/cpu_arch.h"
#include "cohort/sampler/model_tokenizer.h"
#include "cohort/train/grpo/step_metrics.h"
#include "cohort/train/run/common_checks.h"
#include "cohort/train/run/memory_plan.h"
#include "cohort/train/run/run_setup.h"
#include "cohort/train/run/self_test.h"

namespace cohort::python {
namespace {

/// bfloat16 if config.json names a type of 16 bits.
std::string dtype_of(const std::string& model_dir) {
  const Json config = read_decoder_config(model_dir).raw;
  for (const char* key : {"dtype", "torch_dtype"}) {
    if (!config.contains(key) || !config.at(key).is_string()) continue;
    const std::string name = config.at(key).get<std::string>();
    return name == "bfloat16" || name == "float16" ? "bfloat16" : "float32";
  }
  return "float32";
}

EngineSettings checked(EngineSettings settings) {
  cpu_arch();  // COHORT_CPU_ARCH is refused before anything is loaded
  check_lora(settings.lora);
  if (settings.lora.dropout != 0.0)
    throw ConfigError("lora.dropout must be 0: sampler and trainer share one forward without noise");
  if (settings.model.dtype == "auto") settings.model.dtype = dtype_of(settings.model.path);
  return settings;
}

std::unique_ptr<Decoder> loaded(const EngineSettings& settings) {
  auto decoder = load_model(settings.model, settings.lora, settings.seed);
  check_router_loss(settings.router_aux_loss_coef, decoder->config());
  if (settings.max_length) decoder->plan_length(*settings.max_length);
  return decoder;
}

std::shared_ptr<const TextSide> text_side(const ModelConfig& model, const DecoderConfig& decoder) {
  auto side = std::make_shared<TextSide>();
  side->tokenizer = read_tokenizer(model.path, decoder);
  if (side->tokenizer == nullptr) return nullptr;
  TextSettings settings;
  settings.chat_template = model.chat_template;
  side->format = text_format(*side->tokenizer, model.path, present_time(), settings);
  return side;
}

const Tokenizer* tokenizer_of(const std::shared_ptr<const TextSide>& text) {
  return text == nullptr ? nullptr : text->tokenizer.get();
}

}  // namespace

LossOptions ScoringPass::options(double temperature, const BetweenPasses& between) const {
  LossOptions options = options_;
  options.temperature = temperature;
  options.on_microbatch = between;
  return options;
}

void ScoringPass::fill_logprobs(std::span<Group> groups, double temperature,
                                const BetweenPasses& between) const {
  fill_ref_logprobs(weights_, groups, options(temperature, between), /*masked_too=*/true);
}

void ScoringPass::fill_entropies(std::span<Group> groups, double temperature,
                                 const BetweenPasses& between) const {
  cohort::fill_entropies(weights_, groups, options(temperature, between));
}

PolicyEngine::PolicyEngine(EngineSettings settings)
    : settings_(checked(std::move(settings))),
      decoder_(loaded(settings_)),
      text_(text_side(settings_.model, decoder_->config())),
      sampler_(*decoder_, tokenizer_of(text_), settings_.cache_tokens) {}

double PolicyEngine::sampler_trainer_difference() const {
  return cohort::sampler_trainer_difference(*decoder_);
}

std::vector<Group> PolicyEngine::generate(const std::vector<Prompt>& prompts, int64_t num_generations,
                                          const SamplingParams& params, const RolloutAddress& address,
                                          const BetweenPasses& between) {
  check_cache_tokens(settings_.cache_tokens, "cache_tokens", prompts, model(), params.max_completion_length);
  sampler_.set_on_pass(between);
  std::vector<Group> groups = sampler_.rollout(prompts, num_generations, params, address, num_updates());
  for_each_sample(groups, [](const Sample& sample) {
    for (const float logprob : sample.completion.sampler_logprobs) {
      if (!std::isfinite(logprob))
        throw FormatError("the model's log-probabilities are not finite: its weights hold NaN or overflow");
    }
  });
  return groups;
}

ScoringPass PolicyEngine::snapshot(bool with_adapters) const {
  return {WeightSnapshot::of_now(*decoder_, {.enabled = with_adapters}), options()};
}

Metrics PolicyEngine::forward_backward(std::span<const Group> groups, const LossConfig& objective,
                                       double temperature, const BetweenPasses& between,
                                       const LossFunction& loss_function) {
  if (num_gradients_ == 0) zero_grad();
  sampler_.release_cache();  // the pass takes the same memory for its activations
  LossOptions options = this->options();
  options.temperature = temperature;
  options.on_microbatch = between;
  options.loss = loss_function;
  try {
    const LossResult loss = accumulate_policy_gradient(*decoder_, groups, objective, options);
    ++num_gradients_;
    is_finite_ = is_finite_ && loss.is_finite;
    return loss_metrics(loss, loss, settings_.recompute);
  } catch (...) {
    zero_grad();  // some micro-batches have added theirs
    throw;
  }
}

Metrics PolicyEngine::optim_step(double learning_rate) {
  if (num_gradients_ == 0) throw std::runtime_error("there is no gradient: call forward_backward() first");
  const double norm = is_finite_ ? optimizer().grad_norm() : std::numeric_limits<double>::quiet_NaN();
  const bool is_finite = std::isfinite(norm);
  if (is_finite) {
    optimizer().step(learning_rate, norm);
    decoder_->refresh();
  }
  zero_grad();
  return {{"grad_norm", norm},
          {"learning_rate", learning_rate},
          {"num_updates", static_cast<double>(num_updates())},
          {"skipped", is_finite ? 0.0 : 1.0}};
}

void PolicyEngine::zero_grad() {
  optimizer().zero_grad();
  num_gradients_ = 0;
  is_finite_ = true;
}

void PolicyEngine::save(const std::filesystem::path& directory) const {
  // Without a final slash: the new directory's neighbours are named after it.
  const auto path = directory.has_filename() ? directory : directory.parent_path();
  if (std::filesystem::exists(path) &&
      !(std::filesystem::is_directory(path) && std::filesystem::is_empty(path)))
    throw FileError(EEXIST, str(path.string(), ": exists already; name a new directory"));
  save_trained(*decoder_, settings_.model.path, path, settings_.model.chat_template);
}

LossOptions PolicyEngine::options() const {
  LossOptions options;
  options.tokens_per_microbatch =
      microbatch_rows(settings_.tokens_per_microbatch, *decoder_, settings_.recompute);
  options.recompute = settings_.recompute;
  options.router_aux_loss_coef = settings_.router_aux_loss_coef;
  return options;
}

AdamW& PolicyEngine::optimizer() {
  if (!optimizer_) optimizer_.emplace(decoder_->parameters(), settings_.optimizer);
  return *optimizer_;
}

}  // namespace cohort::python
