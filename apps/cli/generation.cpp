#include "apps/cli/generation.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <future>

#include "apps/cli/command.h"
#include "apps/cli/rows.h"
#include "cohort/core/log.h"
#include "cohort/models/adapter.h"
#include "cohort/models/model_directory.h"
#include "cohort/sampler/context_room.h"
#include "cohort/sampler/model_tokenizer.h"
#include "cohort/sampler/stop_ids.h"
#include "cohort/text/chat_template.h"

namespace cohort::cli {

void GenerationConfig::describe(FieldVisitor& f) {
  describe_model(f);
  f("num_generations", num_generations, "Completions of each prompt.", at_least(1));
  describe_sampling(f);
  describe_texts(f);
  describe_machine(f);
}

void GenerationConfig::describe_model(FieldVisitor& f) {
  f("model", model, "Hugging Face model directory, an adapter's or a checkpoint's; required.");
  f("adapter", adapter, "PEFT adapter directory to put on the model.");
  f("dtype", dtype, "Compute dtype.", one_of({"float32", "bfloat16"}));
  f("device", device, "Where to compute.", one_of({"cpu", "cuda"}));
  cohort::describe(f, text);
}

void GenerationConfig::describe_sampling(FieldVisitor& f) {
  describe_draws(f, /*may_be_greedy=*/true);
  f("repetition_penalty", repetition_penalty,
    "Divides the positive logits, and multiplies the negative ones, of the tokens in prompt and completion "
    "so "
    "far, as in transformers and vLLM; 1 is off.",
    above(0.0));
  f("presence_penalty", presence_penalty,
    "Taken from the logits of the tokens in the completion so far, as in vLLM; 0 is off.",
    between(-2.0, 2.0));
  f("frequency_penalty", frequency_penalty, "The same, once for each time that the token came; 0 is off.",
    between(-2.0, 2.0));
  f("logit_bias", logit_bias, "Added to the logits of tokens: id = bias; the flag is given once for each.",
    between(-100.0, 100.0));
  describe_stops(f);
}

void GenerationConfig::describe_machine(FieldVisitor& f) {
  f("seed", seed, "Decides every random number, with the place of a prompt in the file.", at_least(0));
  describe_cache(f);
  f("threads", threads,
    "CPU threads; 0 takes OMP_NUM_THREADS where that is set, else all cores. Changes no result.",
    at_least(0));
}

void GenerationConfig::settle() const { check_sampling_keys(*this, ""); }

void resolve_model(GenerationConfig& config) {
  const ModelPlace place = find_model(config.model, config.adapter);
  config.model = place.model_dir.string();
  config.adapter = place.adapter_dir.string();
}

LoadedModel load_model(GenerationConfig& config) {
  set_threads(config.threads);
  resolve_model(config);
  LoadedModel model;
  // The tokenizer's file is parsed while the weights are read.
  auto tokenizer = std::async(std::launch::async, [&config] {
    return read_tokenizer(config.model, read_decoder_config(config.model));
  });
  model.decoder =
      load_adapted(config.model, config.adapter, parse_dtype(config.dtype), parse_device(config.device));
  model.tokenizer = tokenizer.get();
  return model;
}

bool has_chat_template(const GenerationConfig& config) {
  return !config.text.chat_template.empty() || ChatTemplate::is_in(config.model);
}

void check_finite(const std::vector<float>& logprobs, const std::string& model) {
  if (std::all_of(logprobs.begin(), logprobs.end(), [](float value) { return std::isfinite(value); })) return;
  throw FormatError(
      str(model, ": the model's log-probabilities are not finite: its weights hold NaN or overflow"));
}

void plan_length(const LoadedModel& model, const std::vector<Prompt>& prompts,
                 const GenerationConfig& config) {
  int64_t longest = 0;
  for (const Prompt& prompt : prompts) {
    longest = std::max(longest, static_cast<int64_t>(prompt.token_ids.size()));
  }
  longest = std::min(longest + config.max_completion_length, model.decoder->config().context_length);
  model.decoder->plan_length(longest);
}

void check_room(const LoadedModel& model, const std::vector<Prompt>& prompts,
                const GenerationConfig& config) {
  check_cache_tokens(config.cache_tokens, "cache_tokens", prompts, model.decoder->config(),
                     config.max_completion_length);
  const auto length = [](const Prompt& prompt) { return std::ssize(prompt.token_ids); };
  const auto [shortest, longest] = std::ranges::minmax_element(prompts, {}, length);
  PromptExtent extent{length(*longest), longest->id};
  if (prompts.size() > 1) extent.shortest = length(*shortest);
  const int64_t context = model.decoder->config().context_length;
  const std::string excess =
      context_excess("max_completion_length", config.max_completion_length, context, extent);
  if (!excess.empty()) log_warn(excess, ". Set it to ", context - extent.longest);
}

namespace {

/// The ids and values of `logit_bias`, whose keys are texts.
std::vector<std::pair<int32_t, double>> read_logit_bias(const std::map<std::string, double>& table,
                                                        const DecoderConfig& config) {
  std::vector<std::pair<int32_t, double>> result;
  for (const auto& [key, bias] : table) {
    int64_t id = 0;
    const std::from_chars_result read = std::from_chars(key.data(), key.data() + key.size(), id);
    if (read.ec != std::errc() || read.ptr != key.data() + key.size())
      throw ConfigError(str("logit_bias: \"", key, "\" is no token id; write ID=BIAS"));
    check_token_ids({id}, "logit_bias", config);
    result.emplace_back(static_cast<int32_t>(id), bias);
  }
  return result;
}

}  // namespace

SamplingParams sampling_params(const GenerationConfig& config, const LoadedModel& model) {
  const DecoderConfig& decoder = model.decoder->config();
  check_token_ids(config.stop_token_ids, "stop_token_ids", decoder);
  check_stop_strings(config.stop_strings, model.tokenizer.get(), config.skip_special_tokens);
  SamplingParams params = cohort::sampling_params(config, stop_token_ids(decoder, model.tokenizer.get()),
                                                  model.tokenizer.get(), "");
  params.repetition_penalty = config.repetition_penalty;
  params.presence_penalty = config.presence_penalty;
  params.frequency_penalty = config.frequency_penalty;
  params.logit_bias = read_logit_bias(config.logit_bias, decoder);
  return params;
}

RolloutAddress rollout_address(const GenerationConfig& config) {
  return {.seed = static_cast<uint64_t>(config.seed), .step = 0, .first_prompt = 0};
}

}  // namespace cohort::cli
