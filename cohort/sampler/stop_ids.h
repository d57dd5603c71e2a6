// The token ids that end a completion.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cohort/models/decoder_config.h"
#include "cohort/text/tokenizer.h"

namespace cohort {

/// The stop ids of config.json and generation_config.json, and the tokenizer's end-of-sequence id
/// (`tokenizer` may be null).
std::vector<int32_t> stop_token_ids(const DecoderConfig& config, const Tokenizer* tokenizer);

/// The stop ids of a model, unless a run ignores them, and those of the run's settings.
std::vector<int32_t> merged_stop_ids(const std::vector<int32_t>& of_model, bool ignore_eos,
                                     const std::vector<int64_t>& of_settings);

/// The stop id that ends a plain text: the tokenizer's or, if it names none, the model's first.
std::optional<int32_t> end_token_id(const DecoderConfig& config, const Tokenizer& tokenizer);

}  // namespace cohort
