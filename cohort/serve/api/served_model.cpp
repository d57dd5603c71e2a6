#include "cohort/serve/api/served_model.h"

#include <algorithm>
#include <ctime>

#include "cohort/sampler/constraint_cache.h"

namespace cohort {

ServedModel describe_served(const std::string& name, const DecoderConfig& config, const Tokenizer& tokenizer,
                            const TextFormat& format) {
  ServedModel model;
  model.name = name;
  model.created = static_cast<int64_t>(std::time(nullptr));
  model.config = &config;
  model.tokenizer = &tokenizer;
  model.format = format;
  model.constraints = std::make_shared<ConstraintCache>(tokenizer);
  size_t longest = 1;
  for (int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    const std::string* token = tokenizer.decoded_token(id, {.skip_special_tokens = false});
    if (token != nullptr) longest = std::max(longest, token->size());
  }
  model.max_prompt_bytes = longest * static_cast<size_t>(config.context_length);
  return model;
}

}  // namespace cohort
