// A request while it is drawn: its completion so far, and what ends it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "cohort/models/activation_record.h"
#include "cohort/rl/types.h"
#include "cohort/sampler/constraint.h"
#include "cohort/sampler/request.h"
#include "cohort/sampler/sampling.h"
#include "cohort/text/incremental_detokenizer.h"
#include "cohort/text/tokenizer.h"

namespace cohort {

struct GrowingRequest {
  RequestId id = -1;
  Request request{};
  Completion completion{};
  int64_t max_length = 0;  ///< of the completion, in tokens: its own limit or the rest of the context
  std::optional<RecordedRows> recorded{};  ///< the places of its activations in the record
  int32_t turn = 0;
  std::optional<IncrementalDetokenizer> detokenizer{};  ///< if there are stop strings
  std::string text{};                                   ///< that the detokenizer has given so far
  size_t turn_begin = 0;                                ///< in `text`
  int64_t turn_first = 0;                               ///< its first token in the completion
  bool is_text_cut = false;                             ///< before a stop string
  bool is_ended = false;
  Constraint::State constraint_state{};
  KeptIds without_stops{};  ///< the ids of the first tokens, if these may not stop

  /// Appends a sampled token; true if it ends the completion, whose finish_reason then says why: a stop
  /// token, a stop string that begins in this turn, or its length.
  bool append_sampled(SampledToken token, int64_t policy_version);

  /// Appends tokens that were not sampled, after which the next turn begins.
  void append_injected(std::span<const int32_t> ids, int64_t policy_version);

  /// Begins with the first `num_tokens` tokens of another request's completion.
  void begin_with(const Completion& other, int64_t num_tokens);

  /// Sets the text of the ended completion. Without a tokenizer it has none.
  void set_text(const Tokenizer* tokenizer);

 private:
  bool is_complete(int32_t id);
  bool completes_stop_string(int32_t id);
};

/// How texts of a request are decoded.
DecodeOptions decode_options(const SamplingParams& params);

}  // namespace cohort
