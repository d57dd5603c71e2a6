// The settings that say how completions are drawn, as recipes and commands have them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cohort/core/config.h"
#include "cohort/sampler/sampling.h"
#include "cohort/text/tokenizer.h"

namespace cohort {

struct SamplingKeys {
  int64_t max_completion_length = 512;
  double temperature = 1.0;
  int64_t top_k = 0;
  double top_p = 1.0;
  double min_p = 0.0;
  std::string structured_outputs_regex{};
  std::vector<std::string> stop_strings{};
  bool include_stop_str_in_output = true;
  bool skip_special_tokens = true;
  std::vector<int64_t> stop_token_ids{};
  int64_t min_tokens = 0;
  bool ignore_eos = false;
  int64_t cache_tokens = 0;

  /// The length, the temperature and the filters. A policy that is trained cannot be greedy.
  void describe_draws(FieldVisitor& f, bool may_be_greedy);

  /// What ends a completion, beside its length.
  void describe_stops(FieldVisitor& f);

  /// What is for whole texts alone: a chat shows none of it.
  void describe_texts(FieldVisitor& f);
  void describe_cache(FieldVisitor& f);
};

/// Throws ConfigError for settings that contradict each other; `section` is in front of the keys in its line,
/// such as "rollout.".
void check_sampling_keys(const SamplingKeys& keys, const std::string& section);

/// `stop_token_ids` are the model's own. Ids are not checked. Throws ConfigError naming
/// structured_outputs_regex, with `section` in front, for an expression that no text of the tokenizer's can
/// be held to; `tokenizer` may be null.
SamplingParams sampling_params(const SamplingKeys& keys, const std::vector<int32_t>& stop_token_ids,
                               const Tokenizer* tokenizer, const std::string& section);

}  // namespace cohort
