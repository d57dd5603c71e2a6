#include "cohort/sampler/sampler.h"

#include <algorithm>

#include "cohort/core/error.h"
#include "cohort/core/memory.h"
#include "cohort/sampler/prompt_batches.h"
#include "cohort/sampler/rollout.h"

namespace cohort {
void check_prompts(const std::vector<Prompt>& prompts, const DecoderConfig& config) {
  for (const Prompt& prompt : prompts) {
    const auto length = static_cast<int64_t>(prompt.token_ids.size());
    if (length == 0) throw FormatError(str(prompt.id, ": the prompt has no tokens"));
    if (length >= config.context_length) {
      throw FormatError(str(prompt.id, ": the prompt has ", length, " tokens; the model's context of ",
                            config.context_length, " leaves no room for a completion"));
    }
    for (const int32_t id : prompt.token_ids) {
      if (id < 0 || id >= config.vocab_size) {
        throw FormatError(str(prompt.id, ": id ", id, " lies outside the vocabulary of ", config.vocab_size));
      }
    }
  }
}

void check_stop_strings(const std::vector<std::string>& stop_strings, const Tokenizer* tokenizer,
                        bool skip_special_tokens) {
  if (stop_strings.empty()) return;
  if (tokenizer == nullptr) throw ConfigError("stop_strings need a tokenizer.json in the model directory");
  for (const std::string& stop : stop_strings) {
    if (stop.empty()) throw ConfigError("stop_strings: an empty text would end every completion; remove it");
    for (int32_t id = 0; skip_special_tokens && id < tokenizer->vocab_size(); ++id) {
      if (!tokenizer->is_special(id)) continue;
      const std::optional<std::string> token = tokenizer->token(id);
      if (token && stop.find(*token) != std::string::npos) {
        throw ConfigError(str("stop_strings: \"", stop, "\" holds the special token \"", *token,
                              "\", which no text shows; make it an eos_token_id of the model's "
                              "generation_config.json, or set skip_special_tokens = false"));
      }
    }
  }
}

void check_token_ids(const std::vector<int64_t>& ids, const char* key, const DecoderConfig& config) {
  for (const int64_t id : ids) {
    if (id < 0 || id >= config.vocab_size) {
      throw ConfigError(
          str(key, ": ", id, " lies outside the model's vocabulary of ", config.vocab_size, " ids"));
    }
  }
}

void check_cache_tokens(int64_t cache_tokens, const char* key, const std::vector<Prompt>& prompts,
                        const DecoderConfig& config, int64_t max_completion_length) {
  if (cache_tokens == 0) return;
  for (const Prompt& prompt : prompts) {
    const auto length = static_cast<int64_t>(prompt.token_ids.size());
    const int64_t longest = std::min(max_completion_length, config.context_length - length);
    const int64_t needed = kPageRows * pages_for_group(length, 1, longest);
    if (needed > cache_tokens / kPageRows * kPageRows) {
      throw ConfigError(str(key, " = ", cache_tokens, " does not hold ", prompt.id, " (", length,
                            " tokens) with a completion of ", longest, "; give at least ", needed));
    }
  }
}

int64_t default_cache_pages(const DecoderConfig& config, at::ScalarType compute,
                            const std::vector<int64_t>& prompt_lengths,
                            const std::vector<int64_t>& group_sizes, int64_t max_completion_length) {
  int64_t needed = 1, at_least = 1;
  for (size_t p = 0; p < prompt_lengths.size(); ++p) {
    const int64_t length = prompt_lengths[p];
    const int64_t longest = std::min(max_completion_length, config.context_length - length);
    needed += pages_for_group(length, group_sizes[p], longest);
    at_least = std::max(at_least, pages_for_group(length, 1, longest));
  }
  const int64_t page_bytes = kPageRows * KvCache::bytes_per_row(config, compute);
  return std::max(at_least, std::min(needed, physical_memory_bytes() / 4 / page_bytes));
}

int64_t rows_of_rollout(const std::vector<Prompt>& prompts, const std::vector<int64_t>& group_sizes,
                        int64_t max_completion_length, const DecoderConfig& config) {
  int64_t rows = 0;
  for (size_t p = 0; p < prompts.size(); ++p) {
    const auto length = static_cast<int64_t>(prompts[p].token_ids.size());
    rows += length + group_sizes[p] * (std::min(max_completion_length, config.context_length - length) - 1);
  }
  return rows;
}

Sampler::Sampler(const Decoder& decoder, const Tokenizer* tokenizer, int64_t cache_tokens)
    : decoder_(decoder), tokenizer_(tokenizer), cache_tokens_(cache_tokens) {}

int64_t Sampler::page_budget(const std::vector<Prompt>& prompts, const std::vector<int64_t>& group_sizes,
                             int64_t max_length) const {
  if (cache_tokens_ > 0) return cache_tokens_ / kPageRows;
  return default_cache_pages(decoder_.config(), decoder_.compute_dtype(), lengths_of(prompts), group_sizes,
                             max_length);
}

std::vector<Group> Sampler::rollout(const std::vector<Prompt>& prompts, int64_t num_generations,
                                    const SamplingParams& params, RolloutAddress address,
                                    int64_t policy_version, const OnCompletion& on_completion) {
  return rollout(prompts, std::vector<int64_t>(prompts.size(), num_generations), params, std::move(address),
                 policy_version, on_completion);
}

std::vector<Group> Sampler::rollout(const std::vector<Prompt>& prompts,
                                    const std::vector<int64_t>& group_sizes, const SamplingParams& params,
                                    RolloutAddress address, int64_t policy_version,
                                    const OnCompletion& on_completion, ActivationRecord* record) {
  return roll_out(prompts, group_sizes, params, std::move(address), policy_version, on_completion, record,
                  {});
}

Completion Sampler::stream(const Prompt& prompt, const SamplingParams& params, RolloutAddress address,
                           const OnToken& on_token) {
  auto groups = roll_out({prompt}, {1}, params, std::move(address), 0, {}, nullptr, on_token);
  return std::move(groups.front().samples.front().completion);
}

std::vector<Group> Sampler::roll_out(const std::vector<Prompt>& prompts,
                                     const std::vector<int64_t>& group_sizes, const SamplingParams& params,
                                     RolloutAddress address, int64_t policy_version,
                                     const OnCompletion& on_completion, ActivationRecord* record,
                                     const OnToken& on_token) {
  check_stop_strings(params.stop_strings, tokenizer_, params.skip_special_tokens);
  check_prompts(prompts, decoder_.config());
  const int64_t pages = page_budget(prompts, group_sizes, params.max_completion_length);
  // Only for this rollout: an update takes the same memory for its activations.
  KvCache cache(decoder_.config(), pages, decoder_.compute_dtype(), decoder_.device());
  stats_ = {};
  Rollout rollout(decoder_, tokenizer_, cache, prompts, group_sizes, params, std::move(address),
                  policy_version, pages, on_completion, record);
  return rollout.run(stats_, on_token);
}

}  // namespace cohort
