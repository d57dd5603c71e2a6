#include "cohort/sampler/request_checks.h"

#include <algorithm>
#include <optional>

#include "cohort/core/error.h"
#include "cohort/sampler/block_manager.h"

namespace cohort {

void check_prompt(const std::string& name, std::span<const int32_t> token_ids, const DecoderConfig& config) {
  const auto length = std::ssize(token_ids);
  if (length == 0) throw FormatError(str(name, ": the prompt has no tokens"));
  if (length >= config.context_length) {
    throw FormatError(str(name, ": the prompt has ", length, " tokens; the model's context of ",
                          config.context_length, " leaves no room for a completion"));
  }
  for (const int32_t id : token_ids) {
    if (id < 0 || id >= config.vocab_size)
      throw FormatError(str(name, ": id ", id, " lies outside the vocabulary of ", config.vocab_size));
  }
}

void check_prompts(const std::vector<Prompt>& prompts, const DecoderConfig& config) {
  for (const Prompt& prompt : prompts) check_prompt(prompt.id, prompt.token_ids, config);
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

}  // namespace cohort
