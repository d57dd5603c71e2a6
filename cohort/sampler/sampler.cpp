#include "cohort/sampler/sampler.h"

#include <unistd.h>

#include <algorithm>

#include "cohort/core/error.h"
#include "cohort/sampler/rollout.h"

namespace cohort {
namespace {

int64_t physical_memory_bytes() {
  return static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
}

}  // namespace

void check_prompts(const std::vector<Prompt>& prompts, const DecoderConfig& config) {
  for (const Prompt& prompt : prompts) {
    const auto length = static_cast<int64_t>(prompt.token_ids.size());
    if (length == 0) throw FormatError(str(prompt.id, ": the prompt has no tokens"));
    if (length >= config.max_position_embeddings) {
      throw FormatError(str(prompt.id, ": the prompt has ", length, " tokens; the model's context of ",
                            config.max_position_embeddings, " leaves no room for a completion"));
    }
    for (const int32_t id : prompt.token_ids) {
      if (id < 0 || id >= config.vocab_size) {
        throw FormatError(str(prompt.id, ": id ", id, " lies outside the vocabulary of ", config.vocab_size));
      }
    }
  }
}

Sampler::Sampler(const Decoder& decoder, const Tokenizer* tokenizer, int64_t cache_tokens)
    : decoder_(decoder), tokenizer_(tokenizer), cache_tokens_(cache_tokens) {}

Sampler::~Sampler() = default;

int64_t Sampler::page_budget(const std::vector<Prompt>& prompts, int64_t num_generations,
                             int64_t max_length) const {
  if (cache_tokens_ > 0) return cache_tokens_ / kPageRows;
  int64_t needed = 1, at_least = 1;
  for (const Prompt& prompt : prompts) {
    const auto length = static_cast<int64_t>(prompt.token_ids.size());
    const int64_t longest = std::min(max_length, decoder_.config().max_position_embeddings - length);
    needed += pages_for_group(length, num_generations, longest);
    at_least = std::max(at_least, pages_for_group(length, 1, longest));
  }
  const int64_t page_bytes = kPageRows * KvCache::bytes_per_row(decoder_.config(), decoder_.compute_dtype());
  return std::max(at_least, std::min(needed, physical_memory_bytes() / 4 / page_bytes));
}

std::vector<RolloutGroup> Sampler::rollout(const std::vector<Prompt>& prompts, int64_t num_generations,
                                           const SamplingParams& params, RolloutAddress address,
                                           int64_t policy_version, const OnCompletion& on_completion) {
  if (!params.stop_strings.empty() && tokenizer_ == nullptr) {
    throw ConfigError("stop_strings need a tokenizer.json in the model directory");
  }
  for (const std::string& stop : params.stop_strings) {
    if (stop.empty()) throw ConfigError("stop_strings: an empty text would end every completion; remove it");
  }
  check_prompts(prompts, decoder_.config());
  const int64_t pages = page_budget(prompts, num_generations, params.max_completion_length);
  if (cache_ == nullptr || pages > num_pages_) {
    cache_.reset();  // before the larger one takes its memory
    cache_ = std::make_unique<KvCache>(decoder_.config(), pages * kPageRows, decoder_.compute_dtype(),
                                       decoder_.device());
    num_pages_ = pages;
  }
  stats_ = {};
  Rollout rollout(decoder_, tokenizer_, *cache_, prompts, num_generations, params, address, policy_version,
                  num_pages_, on_completion);
  return rollout.run(stats_);
}

}  // namespace cohort
