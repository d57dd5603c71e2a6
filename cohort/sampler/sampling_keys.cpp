#include "cohort/sampler/sampling_keys.h"

#include "cohort/core/error.h"
#include "cohort/sampler/constraint_cache.h"
#include "cohort/sampler/stop_ids.h"

namespace cohort {

void SamplingKeys::describe_draws(FieldVisitor& f, bool may_be_greedy) {
  f("max_completion_length", max_completion_length, "Longest completion, in tokens.", at_least(1));
  f("temperature", temperature,
    may_be_greedy ? "Divides the logits; 0 is greedy."
                  : "Divides the logits, in sampling and in every log-probability.",
    may_be_greedy ? at_least(0.0) : above(0.0));
  f("top_k", top_k, "Sample from the k likeliest tokens only; 0 is off.", at_least(0));
  f("top_p", top_p, "Sample from the smallest set of likeliest tokens with this probability; 1 is off.",
    above_up_to(0.0, 1.0));
  f("min_p", min_p,
    "Sample from tokens with at least this share of the likeliest one's probability; 0 is off.",
    between(0.0, 1.0));
  f("structured_outputs_regex", structured_outputs_regex,
    "Regular expression that every completion, or turn of an episode, matches in whole, unless it reaches "
    "its longest length. Only tokens that can go on to a match are drawn, and log-probabilities are over "
    "these.");
}

void SamplingKeys::describe_stops(FieldVisitor& f) {
  f("stop_strings", stop_strings, "Texts that end a completion; the flag is given once for each.");
  f("stop_token_ids", stop_token_ids,
    "Token ids that end a completion, beside the model's own; the flag is given once for each.", at_least(0));
  f("min_tokens", min_tokens,
    "Tokens of a completion in front of the first one that may stop it. Before that no stop token is drawn, "
    "and no log-probability counts one.",
    at_least(0));
}

void SamplingKeys::describe_texts(FieldVisitor& f) {
  f("include_stop_str_in_output", include_stop_str_in_output,
    "Texts, which rewards see, show the stop string or stop token that ended a completion, as its tokens do; "
    "otherwise they end before it. Changes no token.");
  f("skip_special_tokens", skip_special_tokens,
    "Texts leave out tokens that the tokenizer marks as special. Changes no token.");
  f("ignore_eos", ignore_eos,
    "Sample on past the model's own stop tokens, up to max_completion_length (for measurements).");
}

void SamplingKeys::describe_cache(FieldVisitor& f) {
  f("cache_tokens", cache_tokens,
    "Size of the paged KV cache, in tokens; 0 chooses one that fits. Changes no result.", at_least(0),
    OnResume::kTaken);
}

void check_sampling_keys(const SamplingKeys& keys, const std::string& section) {
  if (keys.ignore_eos && !keys.structured_outputs_regex.empty())
    throw ConfigError(str(section, "structured_outputs_regex ends a completion, which ", section,
                          "ignore_eos rules out: remove one of them"));
  if (keys.min_tokens <= keys.max_completion_length) return;
  throw ConfigError(str(section, "min_tokens (", keys.min_tokens, ") is above ", section,
                        "max_completion_length (", keys.max_completion_length, "): lower it"));
}

SamplingParams sampling_params(const SamplingKeys& keys, const std::vector<int32_t>& stop_token_ids,
                               const Tokenizer* tokenizer, const std::string& section) {
  SamplingParams params = {
      .temperature = keys.temperature,
      .top_k = keys.top_k,
      .top_p = keys.top_p,
      .min_p = keys.min_p,
      .max_completion_length = keys.max_completion_length,
      .min_tokens = keys.min_tokens,
      .stop_token_ids = merged_stop_ids(stop_token_ids, keys.ignore_eos, keys.stop_token_ids),
      .stop_strings = keys.stop_strings,
      .include_stop_str_in_output = keys.include_stop_str_in_output,
      .skip_special_tokens = keys.skip_special_tokens};
  if (keys.structured_outputs_regex.empty()) return params;
  try {
    params.constraint =
        make_constraint(regex_form(keys.structured_outputs_regex), tokenizer, params.stop_token_ids);
  } catch (const UserError& error) {
    throw ConfigError(str(section, "structured_outputs_regex: ", error.what()));
  }
  return params;
}

}  // namespace cohort
