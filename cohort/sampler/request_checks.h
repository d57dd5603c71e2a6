// Checks of requests before a sampler draws anything.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cohort/models/decoder_config.h"
#include "cohort/rl/types.h"
#include "cohort/text/tokenizer.h"

namespace cohort {

/// Throws FormatError naming `name` for a prompt that is empty, holds ids outside the vocabulary or leaves no
/// room in the context.
void check_prompt(const std::string& name, std::span<const int32_t> token_ids, const DecoderConfig& config);

/// The same for all prompts, by their ids. Sampler::rollout calls it; call it before to refuse a whole data
/// set at once.
void check_prompts(const std::vector<Prompt>& prompts, const DecoderConfig& config);

/// Throws ConfigError for stop strings that a sampler cannot use: empty ones, any without a tokenizer, and
/// special tokens if texts leave them out.
void check_stop_strings(const std::vector<std::string>& stop_strings, const Tokenizer* tokenizer,
                        bool skip_special_tokens = true);

/// Throws ConfigError naming the setting `key` for an id outside the vocabulary.
void check_token_ids(const std::vector<int64_t>& ids, const char* key, const DecoderConfig& config);

/// Throws ConfigError naming the setting `key` if `cache_tokens` do not hold the prompt that needs most
/// with one completion; 0 always does.
void check_cache_tokens(int64_t cache_tokens, const char* key, const std::vector<Prompt>& prompts,
                        const DecoderConfig& config, int64_t max_completion_length);

}  // namespace cohort
