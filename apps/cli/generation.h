// What the commands that sample share: a model with its text side, and the keys that say how to draw.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cohort/core/config.h"
#include "cohort/models/decoder.h"
#include "cohort/sampler/sampler.h"
#include "cohort/sampler/sampling_keys.h"
#include "cohort/tasks/text_format.h"
#include "cohort/text/tokenizer.h"

namespace cohort::cli {

struct GenerationConfig : SamplingKeys {
  std::string model, adapter;
  std::string dtype = "float32";
  std::string device = "cpu";
  TextSettings text;
  int64_t num_generations = 1;
  double repetition_penalty = 1.0;
  double presence_penalty = 0.0;
  double frequency_penalty = 0.0;
  std::map<std::string, double> logit_bias;
  int64_t seed = 42;
  int64_t threads = 0;

  void describe(FieldVisitor& f);

  /// The parts of the same list: the model, how a token is drawn, the random numbers and the machine.
  void describe_model(FieldVisitor& f);
  void describe_sampling(FieldVisitor& f);
  void describe_machine(FieldVisitor& f);

  /// Throws ConfigError for settings that contradict each other.
  void settle() const;
};

/// A model directory, loaded.
struct LoadedModel {
  std::unique_ptr<Decoder> decoder;
  std::unique_ptr<const Tokenizer> tokenizer;  ///< null where the directory has none
};

/// Where `config.model` is an adapter's directory, its base model takes the place of `model`, and it that of
/// `adapter`. Throws FormatError where the base model is not at hand.
void resolve_model(GenerationConfig& config);

/// Sets the threads and loads the resolved model. Throws FormatError naming the file at fault.
LoadedModel load_model(GenerationConfig& config);

/// Throws FormatError, naming `model`, for a log-probability that is not finite.
void check_finite(const std::vector<float>& logprobs, const std::string& model);

/// Fixes the model's positions for the longest sequence that `prompts` can grow to.
void plan_length(const LoadedModel& model, const std::vector<Prompt>& prompts,
                 const GenerationConfig& config);

/// Throws ConfigError for a cache that does not hold a prompt with its completion. Warns in one line where
/// completions of the longest length do not fit the context after every prompt, and names the length that
/// does. `prompts` is not empty.
void check_room(const LoadedModel& model, const std::vector<Prompt>& prompts, const GenerationConfig& config);

/// Whether the flags or the model directory bring a chat template.
bool has_chat_template(const GenerationConfig& config);

/// How `config` draws from `model`, whose stop ids end completions. Throws ConfigError for ids outside the
/// vocabulary and stop strings that cannot be honoured.
SamplingParams sampling_params(const GenerationConfig& config, const LoadedModel& model);

/// Sets what the model's generation_config.json says of sampling. Throws FormatError naming file and key.
void take_sampling_defaults(const std::string& model_dir, GenerationConfig& config);

/// Such as "temperature 0.2, top_p 0.9".
std::string sampling_text(const GenerationConfig& config);

/// The place of prompt 0.
RolloutAddress rollout_address(const GenerationConfig& config);

}  // namespace cohort::cli
