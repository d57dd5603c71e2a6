// The settings of a cohort.Engine and of its completions, under the names that Python gives them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cohort/core/config.h"
#include "cohort/models/decoder_config.h"
#include "cohort/sampler/sampling.h"
#include "cohort/text/tokenizer.h"
#include "cohort/train/run/common_config.h"

namespace cohort::python {

struct EngineSettings {
  ModelConfig model{.path = {}, .dtype = "auto", .device = "cpu", .chat_template = {}};
  LoraConfig lora{};
  OptimizerConfig optimizer{};
  int64_t seed = 42;
  std::optional<int64_t> max_length{};
  int64_t tokens_per_microbatch = 0;
  bool recompute = false;
  double router_aux_loss_coef = 0.0;
  int64_t cache_tokens = 0;

  /// All keys but those of the model's path, the adapters and the optimizer.
  void describe(FieldVisitor& f);

  /// The optimizer's keys; the caller of a step gives its learning rate.
  Section optimizer_keys();
};

/// vLLM's names.
struct SamplingSettings {
  int64_t n = 1;
  double temperature = 1.0;
  int64_t top_k = 0;
  double top_p = 1.0;
  double min_p = 0.0;
  double repetition_penalty = 1.0;
  double presence_penalty = 0.0;
  double frequency_penalty = 0.0;
  std::map<std::string, double> logit_bias{};
  int64_t max_tokens = 512;
  int64_t min_tokens = 0;
  std::vector<std::string> stop{};
  std::vector<int64_t> stop_token_ids{};
  bool ignore_eos = false;
  bool include_stop_str_in_output = true;
  bool skip_special_tokens = true;
  std::string structured_outputs{};  ///< JSON
  std::optional<int64_t> seed{};

  void describe(FieldVisitor& f);
};

/// Throws ConfigError for keys that contradict each other.
void check_sampling(const SamplingSettings& settings);

/// How a model with these stop ids draws. Throws ConfigError for ids outside the vocabulary, and for stop
/// strings and forms of the output that cannot be used. `tokenizer` may be null.
SamplingParams sampling_params(const SamplingSettings& settings, const DecoderConfig& model,
                               const Tokenizer* tokenizer);

}  // namespace cohort::python
