#include "cohort/train/run/run_setup.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cohort/core/error.h"
#include "cohort/core/log.h"
#include "cohort/core/time_text.h"
#include "cohort/models/model_directory.h"
#include "cohort/models/pretrained.h"
#include "cohort/sampler/model_tokenizer.h"
#include "cohort/tensor/compute.h"
#include "cohort/train/run/lora_start.h"

namespace cohort {

std::tm run_start(const RunKeys& run, const ResumeOptions& options, dist::Group& processes) {
  const bool is_known = options.resume && RunDirectory::holds_run(run.dir);
  const std::tm own = is_known ? RunDirectory::start_of(run.dir) : present_time();
  return *parse_time_text(processes.broadcast(to_time_text(own), "the time of the start"));
}

int64_t num_steps(std::optional<int64_t> max_steps, std::optional<double> epochs, int64_t rows,
                  int64_t rows_per_step) {
  int64_t steps = max_steps.value_or(std::numeric_limits<int64_t>::max());
  if (epochs) {
    const double needed = std::ceil(*epochs * static_cast<double>(rows) / static_cast<double>(rows_per_step));
    steps = std::min(steps, static_cast<int64_t>(needed));
  }
  return std::max<int64_t>(1, steps);
}

std::unique_ptr<const Tokenizer> require_tokenizer(const std::string& model_dir, const DecoderConfig& model) {
  auto tokenizer = read_tokenizer(model_dir, model);
  if (tokenizer == nullptr)
    throw FormatError(str(model_dir, ": has no tokenizer.json, which training on text needs"));
  return tokenizer;
}

std::unique_ptr<Decoder> load_base(const ModelConfig& config, bool is_frozen) {
  if (is_adapter_directory(config.path)) {
    throw ConfigError(str("model.path: ", config.path,
                          " is an adapter, not a whole model: set lora.path to it and model.path to its base "
                          "model to go on with it, or make a whole model of it by cohort merge --model ",
                          config.path, " --output DIR"));
  }
  auto decoder = load_pretrained(config.path, parse_dtype(config.dtype), parse_device(config.device),
                                 HeadKind::kCausalLm, is_frozen);
  for (const std::string& note : decoder->config().notes) log_info("config.json: ", note);
  return decoder;
}

std::unique_ptr<Decoder> load_model(const ModelConfig& config, const LoraConfig& lora, int64_t seed) {
  auto decoder = load_base(config, /*is_frozen=*/lora.r > 0);
  if (lora.r > 0) start_adapters(lora, config.path, static_cast<uint64_t>(seed), *decoder);
  return decoder;
}

void check_router_loss(double router_aux_loss_coef, const DecoderConfig& model) {
  if (router_aux_loss_coef != 0.0 && model.num_experts == 0) {
    throw ConfigError("train.router_aux_loss_coef has no effect: the model has no experts; remove it");
  }
}

}  // namespace cohort
