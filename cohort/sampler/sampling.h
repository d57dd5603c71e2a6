// Drawing one token from a row of logits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cohort {

struct SamplingParams {
  double temperature = 1.0;  ///< 0 is greedy; log-probabilities are then at temperature 1
  int64_t top_k = 0;         ///< keep the k largest; 0 is off
  double top_p = 1.0;        ///< keep the smallest set whose probability reaches p; 1 is off
  double min_p = 0.0;        ///< keep what has at least this share of the largest probability; 0 is off
  int64_t max_completion_length = 512;
  bool ignore_eos = false;
  std::vector<int32_t> stop_token_ids;
  std::vector<std::string> stop_strings;
  bool include_stop_str_in_output = true;  ///< texts show what ended them: the stop string, the stop token
  bool skip_special_tokens = true;         ///< texts show no token that is marked special

  bool is_filtered() const { return top_k > 0 || top_p < 1.0 || min_p > 0.0; }
  double logprob_temperature() const { return temperature > 0.0 ? temperature : 1.0; }
};

struct SampledToken {
  int32_t id;
  float logprob;                  ///< over the kept set
  std::vector<int32_t> kept_ids;  ///< ascending; empty when no filter is on
};

/// Draws from softmax(logits), `logits` [vocabulary] float32 and already divided by the temperature, by
/// inverting the cumulative distribution over ascending ids at `uniform` in [0, 1). Filters apply in Hugging
/// Face's order (top-k, top-p, min-p), ties go to the lower id. Greedy takes the largest logit of the kept
/// set.
SampledToken sample_token(const float* logits, int64_t vocabulary, const SamplingParams& params,
                          double uniform);

}  // namespace cohort
