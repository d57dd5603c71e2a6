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

std::optional<int32_t> end_token_id(const DecoderConfig& config, const Tokenizer& tokenizer) {
  if (tokenizer.eos_token_id()) return tokenizer.eos_token_id();
  const std::vector<int32_t> stops = stop_token_ids(config, &tokenizer);
  return stops.empty() ? std::nullopt : std::optional<int32_t>(stops.front());
}

}  // namespace cohort
