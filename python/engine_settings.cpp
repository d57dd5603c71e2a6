#include "python/engine_settings.h"

#include <charconv>
#include <functional>
#include <set>
#include <utility>

#include "cohort/core/error.h"
#include "cohort/sampler/constraint_cache.h"
#include "cohort/sampler/request_checks.h"
#include "cohort/sampler/stop_ids.h"
#include "cohort/tasks/text_format.h"

namespace cohort::python {

void EngineSettings::describe(FieldVisitor& f) {
  f("dtype", model.dtype, "Compute dtype; auto is the one that config.json names.",
    one_of({"auto", "float32", "bfloat16"}));
  f("device", model.device, "Where to compute.", one_of({"cpu", "cuda"}));
  f("chat_template", model.chat_template, kChatTemplateMeaning);
  f("seed", seed, "Decides every random number.", at_least(0));
  f("max_length", max_length, "Longest sequence, in tokens; decides dynamic and longrope RoPE.", at_least(2));
  f("tokens_per_microbatch", tokens_per_microbatch,
    "Rows (tokens) forwarded and backpropagated at once; 0 chooses.", at_least(0));
  f("recompute", recompute, "Keep only each layer's input and compute the rest again in the backward pass.");
  f("router_aux_loss_coef", router_aux_loss_coef, "Weight of the load-balancing loss of mixtures of experts.",
    at_least(0.0));
  f("cache_tokens", cache_tokens, "Size of the sampler's paged KV cache, in tokens; 0 chooses one.",
    at_least(0));
}

Section EngineSettings::optimizer_keys() {
  const std::set<std::string> of_step = {"weight_decay", "adam_beta1", "adam_beta2", "adam_epsilon",
                                         "max_grad_norm"};
  Section section = settings_of(optimizer);
  std::erase_if(section.fields, [&](const Field& field) { return !of_step.contains(field.name); });
  return section;
}

void SamplingSettings::describe(FieldVisitor& f) {
  f("n", n, "Completions of each prompt.", at_least(1));
  f("temperature", temperature, "Divides the logits; 0 is greedy.", at_least(0.0));
  f("top_k", top_k, "Sample from the k likeliest tokens only; 0 is off.", at_least(0));
  f("top_p", top_p, "Sample from the smallest set of likeliest tokens with this probability; 1 is off.",
    above_up_to(0.0, 1.0));
  f("min_p", min_p, "Sample from tokens with at least this share of the likeliest one's probability.",
    between(0.0, 1.0));
  f("repetition_penalty", repetition_penalty, "On every token of prompt and completion so far; 1 is off.",
    above(0.0));
  f("presence_penalty", presence_penalty, "Taken from the logits of the tokens in the completion so far.",
    between(-2.0, 2.0));
  f("frequency_penalty", frequency_penalty, "The same, once for each time that the token came.",
    between(-2.0, 2.0));
  f("logit_bias", logit_bias, "Token id -> number added to its logit.", between(-100.0, 100.0));
  f("max_tokens", max_tokens, "Longest completion, in tokens.", at_least(1));
  f("min_tokens", min_tokens, "Tokens before the first one that may stop.", at_least(0));
  f("stop", stop, "Texts that end a completion.");
  f("stop_token_ids", stop_token_ids, "Token ids that end a completion, beside the model's own.",
    at_least(0));
  f("ignore_eos", ignore_eos, "Sample on past the model's own stop tokens.");
  f("include_stop_str_in_output", include_stop_str_in_output, "Texts include what ended them.");
  f("skip_special_tokens", skip_special_tokens, "Texts leave out tokens that are marked special.");
  f("structured_outputs", structured_outputs, "JSON: the form that every completion has.");
  f("seed", seed, "Decides every random number; the engine's where unset.", at_least(0));
}

namespace {

/// The ids and numbers of `logit_bias`, whose keys are texts.
std::vector<std::pair<int32_t, double>> read_logit_bias(const std::map<std::string, double>& table,
                                                        const DecoderConfig& model) {
  std::vector<std::pair<int32_t, double>> biases;
  for (const auto& [key, bias] : table) {
    int64_t id = 0;
    const char* end = key.data() + key.size();
    const std::from_chars_result read = std::from_chars(key.data(), end, id);
    if (read.ec != std::errc() || read.ptr != end)
      throw ConfigError(str("logit_bias: ", key, " is no token id"));
    check_token_ids({id}, "logit_bias", model);
    biases.emplace_back(static_cast<int32_t>(id), bias);
  }
  return biases;
}

/// Passes the form that `text` names to `use`.
void with_output_form(const std::string& text, const std::function<void(const OutputForm& form)>& use) {
  if (text.empty()) return;
  try {
    use(structured_output_form(Json::parse(text)));
  } catch (const UserError& error) {
    throw ConfigError(str("structured_outputs: ", error.what()));
  }
}

}  // namespace

void check_sampling(const SamplingSettings& settings) {
  if (settings.min_tokens > settings.max_tokens)
    throw ConfigError(str("min_tokens (", settings.min_tokens, ") is above max_tokens (", settings.max_tokens,
                          "): lower it"));
  if (settings.ignore_eos && !settings.structured_outputs.empty())
    throw ConfigError("structured_outputs ends a completion, which ignore_eos rules out: remove one of them");
  with_output_form(settings.structured_outputs, [](const OutputForm& form) {
    Grammar grammar;
    form.write(grammar, grammar.begin(0), grammar.end(0));
  });
}

SamplingParams sampling_params(const SamplingSettings& s, const DecoderConfig& model,
                               const Tokenizer* tokenizer) {
  check_sampling(s);
  check_token_ids(s.stop_token_ids, "stop_token_ids", model);
  check_stop_strings(s.stop, tokenizer, s.skip_special_tokens);
  SamplingParams params = {
      .temperature = s.temperature,
      .top_k = s.top_k,
      .top_p = s.top_p,
      .min_p = s.min_p,
      .repetition_penalty = s.repetition_penalty,
      .presence_penalty = s.presence_penalty,
      .frequency_penalty = s.frequency_penalty,
      .logit_bias = read_logit_bias(s.logit_bias, model),
      .max_completion_length = s.max_tokens,
      .min_tokens = s.min_tokens,
      .stop_token_ids = merged_stop_ids(stop_token_ids(model, tokenizer), s.ignore_eos, s.stop_token_ids),
      .stop_strings = s.stop,
      .include_stop_str_in_output = s.include_stop_str_in_output,
      .skip_special_tokens = s.skip_special_tokens};
  with_output_form(s.structured_outputs, [&](const OutputForm& form) {
    params.constraint = make_constraint(form, tokenizer, params.stop_token_ids);
  });
  return params;
}

}  // namespace cohort::python
