// Drawing one token from a row of logits.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cohort/rl/types.h"

namespace cohort {

class Constraint;

struct SamplingParams {
  double temperature = 1.0;  ///< 0 is greedy; log-probabilities are then at temperature 1
  int64_t top_k = 0;         ///< keep the k largest; 0 is off
  double top_p = 1.0;        ///< keep the smallest set whose probability reaches p; 1 is off
  double min_p = 0.0;        ///< keep ids with at least this share of the largest probability; 0 is off
  double repetition_penalty = 1.0;  ///< on every token of prompt and completion so far; 1 is off
  double presence_penalty = 0.0;    ///< subtracted from the logit of every token of the completion so far
  double frequency_penalty = 0.0;   ///< the same, once per occurrence of the token
  std::vector<std::pair<int32_t, double>> logit_bias{};  ///< an id and the number added to its logit
  int64_t max_completion_length = 512;
  int64_t max_turn_length = std::numeric_limits<int64_t>::max();  ///< of an extended request's single turn
  int64_t num_top_logprobs = 0;  ///< likeliest ids of each draw that SampledToken reports
  int64_t min_tokens = 0;        ///< tokens before the first one that may stop
  bool ignore_eos = false;
  std::vector<int32_t> stop_token_ids;
  std::vector<std::string> stop_strings;
  bool include_stop_str_in_output = true;  ///< texts include the stop string or stop token that ended them
  bool skip_special_tokens = true;         ///< texts leave out tokens that are marked special

  std::shared_ptr<Constraint> constraint{};  ///< that each turn's text obeys; null: none

  bool edits_logits() const {
    return repetition_penalty != 1.0 || presence_penalty != 0.0 || frequency_penalty != 0.0 ||
           !logit_bias.empty();
  }
  bool is_filtered() const { return top_k > 0 || top_p < 1.0 || min_p > 0.0; }
  double logprob_temperature() const { return temperature > 0.0 ? temperature : 1.0; }
};

struct SampledToken {
  int32_t id;
  float logprob;     ///< over the kept set, of the edited logits
  KeptIds kept_ids;  ///< null when no filter is on
  /// The likeliest num_top_logprobs ids of the kept set with their log-probabilities, falling, ties by id.
  std::vector<std::pair<int32_t, float>> top_logprobs{};
};

/// The tokens before a drawn token, and the ids that it may have.
struct DrawContext {
  std::span<const int32_t> prompt_ids{};
  std::span<const int32_t> completion_ids{};
  KeptIds allowed{};  ///< null: the whole vocabulary
};

/// `id` as if it had been drawn from softmax(logits), `logits` [vocabulary] float32, with the likeliest
/// `num_top_logprobs` ids.
SampledToken given_token(const float* logits, int64_t vocabulary, int32_t id, int64_t num_top_logprobs);

/// Draws from softmax(logits), `logits` [vocabulary] float32 and already divided by the temperature, by
/// inverting the cumulative distribution over ascending ids at `uniform` in [0, 1). The logits are edited
/// first, as if before the temperature: bias, repetition penalty (as in transformers), frequency and
/// presence penalty (as in vLLM). Filters apply in Hugging Face's order (top-k, top-p, min-p), ties go
/// to the lower id. Greedy takes the largest logit of the kept set. If any logit of the row is NaN, the
/// log-probability is NaN, even if a filter or `allowed` leaves that logit out.
SampledToken sample_token(const float* logits, int64_t vocabulary, const SamplingParams& params,
                          double uniform, const DrawContext& context = {});

}  // namespace cohort
