#include "cohort/sampler/stop_ids.h"

#include <algorithm>

namespace cohort {

std::vector<int32_t> stop_token_ids(const DecoderConfig& config, const Tokenizer* tokenizer) {
  std::vector<int32_t> ids = config.eos_token_ids;
  if (tokenizer != nullptr && tokenizer->eos_token_id() &&
      std::find(ids.begin(), ids.end(), *tokenizer->eos_token_id()) == ids.end()) {
    ids.push_back(*tokenizer->eos_token_id());
  }
  return ids;
}

std::vector<int32_t> merged_stop_ids(const std::vector<int32_t>& of_model, bool ignore_eos,
                                     const std::vector<int64_t>& of_settings) {
  std::vector<int32_t> ids = ignore_eos ? std::vector<int32_t>() : of_model;
  for (const int64_t id : of_settings) ids.push_back(static_cast<int32_t>(id));
  return ids;
}

std::optional<int32_t> end_token_id(const DecoderConfig& config, const Tokenizer& tokenizer) {
  if (tokenizer.eos_token_id()) return tokenizer.eos_token_id();
  const std::vector<int32_t> stops = stop_token_ids(config, &tokenizer);
  return stops.empty() ? std::nullopt : std::optional<int32_t>(stops.front());
}

}  // namespace cohort
