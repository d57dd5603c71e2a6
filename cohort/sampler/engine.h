// The engine: completions on request, by continuous batching over a paged cache.
//
//   Engine engine(decoder, tokenizer, /*num_pages=*/1024);
//   engine.add({.token_ids = prompt, .params = params, .on_end = print});
//   while (engine.step()) {
//   }
//
// The engine draws a request to its end. A held request then waits until extend() adds tokens that were not
// sampled (a tool's result, a user's turn) and continues after them. The tokens depend on the request alone,
// and not on other requests, on the pages or on the threads.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "cohort/models/decoder.h"
#include "cohort/rl/types.h"
#include "cohort/sampler/sampling.h"
#include "cohort/sampler/scheduler.h"
#include "cohort/text/incremental_detokenizer.h"
#include "cohort/text/tokenizer.h"

namespace cohort {

using RequestId = int64_t;

/// The address of a completion's random numbers: its token t is drawn at (seed, step, prompt, sample, t).
struct DrawAddress {
  uint64_t seed = 0;
  uint64_t step = 0;
  uint64_t prompt = 0;
  uint64_t sample = 0;
};

/// Called with each token of a completion as it is drawn; false ends the completion after it.
using OnToken = std::function<bool(int32_t id)>;

/// Called as a request ends, and each time that an extended one ends again.
using OnEnd = std::function<void(RequestId id, const Completion& completion)>;

struct Request {
  std::vector<int32_t> token_ids;  ///< of the prompt
  SamplingParams params{};
  DrawAddress address{};
  OnToken on_token{};
  OnEnd on_end{};
  bool is_held = false;  ///< kept at its end, with its pages, for extend() and fork(), until cancel()
  bool caches_completion = false;  ///< the prefix cache also takes the completion, as for a conversation
};

/// Counts of an engine's work.
struct SamplerStats {
  int64_t prompt_rows = 0;      ///< forwarded, prompts prefilled again included
  int64_t completion_rows = 0;  ///< forwarded, tokens of preempted completions included
  int64_t num_passes = 0;
  int64_t num_preemptions = 0;
  double decode_s = 0.0;  ///< seconds of the passes without prompt rows
};

class Engine {
 public:
  /// `num_pages` of kPageRows tokens each hold keys and values. The decoder and the tokenizer must outlive
  /// this. `tokenizer` may be null: completions then have no text, and requests with stop strings are
  /// refused.
  Engine(const Decoder& decoder, const Tokenizer* tokenizer, int64_t num_pages);

  // Any thread may call these at any time, from callbacks, too. They take effect before the next pass.

  /// Draws a completion of a prompt. Throws ConfigError for stop strings that cannot be used and if
  /// the pages do not hold the prompt with one completion, and FormatError for a prompt that is empty, leaves
  /// no room in the context or holds ids outside the vocabulary.
  RequestId add(Request request);

  /// Adds `token_ids`, which carry no loss, to the completion of the held request `id` and continues after
  /// them, whether the completion had ended or not. It keeps its pages. If its longest completion has no room
  /// for these tokens and one more, none is added, and it ends by length. Throws
  /// UserError for a request that is not held, and ConfigError for ids outside the vocabulary.
  void extend(RequestId id, std::vector<int32_t> token_ids);

  /// A request that has the first `num_tokens` tokens of the completion of the held request `of` and draws
  /// the next ones at `address`. It shares the pages of these tokens and the callbacks and parameters of
  /// `of`, and is held, too. Throws as extend() does; step() throws UserError if `of` has fewer tokens.
  RequestId fork(RequestId of, int64_t num_tokens, DrawAddress address);

  /// Removes a request. Its callbacks are not called any more.
  void cancel(RequestId id);

  // Only one thread at a time may call these.

  /// Forwards one pass and calls the callbacks of its tokens; false if there is nothing to do. If the
  /// decoder's weights have changed, it drops its cache and forwards running requests again.
  bool step();

  /// The number of updates that led to the decoder's weights, for the spans of tokens from now on.
  void set_policy_version(int64_t version) { policy_version_ = version; }

  /// The record that takes the activations of the requests added from now on; null: none does. It must have
  /// room for each request's prompt and longest completion, and outlive the requests.
  void set_record(ActivationRecord* record) { record_ = record; }

  /// The work since the last call.
  SamplerStats take_stats();

  int64_t num_pages() const { return num_pages_; }
  int64_t num_cached_pages() const { return scheduler_.num_cached_pages(); }

 private:
  /// A growing request, at the index of its sequence in the scheduler.
  struct Growing {
    RequestId id = -1;
    Request request{};
    Completion completion{};
    int64_t max_length = 0;
    std::optional<RecordedRows> recorded{};  // the places of its activations in the record
    int32_t turn = 0;
    std::optional<IncrementalDetokenizer> detokenizer{};  // if there are stop strings
    std::string text{};
    size_t turn_begin = 0;     // in `text`
    bool is_text_cut = false;  // before a stop string
    bool is_ended = false;
    KeptIds without_stops{};  // the ids of the first tokens, if these may not stop
  };
  struct Extension {
    RequestId id;
    std::vector<int32_t> token_ids;
  };
  struct Fork {
    RequestId id, of;
    int64_t num_tokens;
    DrawAddress address;
  };
  struct Addition {
    RequestId id;
    Request request;
  };
  using Call = std::variant<Addition, Extension, Fork, RequestId>;  // an id alone is cancelled

  /// A result row of the pass whose logits, at this temperature, give the next token of these sequences.
  struct Draw {
    int64_t row;
    double temperature;
    std::vector<int64_t> sequences;
    std::vector<SampledToken> tokens;  // of each of them, once drawn
  };
  /// The part of a pass that one thread forwards, or all threads together if it is the only part.
  struct Lane {
    std::span<const ScheduledRows> rows;
    std::vector<Draw> draws;
  };

  void take_calls();
  void take(Addition& addition);
  void take(Extension& extension);
  void take(Fork& fork);
  void take(RequestId cancelled);
  bool has_calls();
  void check_held(RequestId id) const;
  Growing& start(int64_t sequence, RequestId id, Request request);

  std::vector<Lane> cut_into_lanes(const std::vector<ScheduledRows>& rows) const;
  void forward(Lane& lane, int64_t num_lanes);
  DecoderInput lay_out(Lane& lane);
  void draw_tokens(const at::Tensor& hidden, std::span<Draw> draws) const;
  SampledToken draw_token(const Growing& growing, const float* logits) const;
  void add_tokens(std::vector<Lane>& lanes);
  void add_token(int64_t sequence, SampledToken token);
  bool is_complete(Growing& growing, int32_t id);
  bool completes_stop_string(Growing& growing, int32_t id);
  void end(int64_t sequence);
  void remove(int64_t sequence);
  std::vector<int64_t> sequences_to_draw(const ScheduledRows& rows) const;
  void add_draws(const std::vector<int64_t>& sequences, int64_t row, std::vector<Draw>& draws) const;

  const Decoder& decoder_;
  const Tokenizer* tokenizer_;
  int64_t num_pages_;
  KvCache cache_;
  Scheduler scheduler_;
  std::vector<Growing> growing_;
  std::unordered_map<RequestId, int64_t> sequences_;       // of the requests that are alive
  std::map<std::vector<int32_t>, KeptIds> without_stops_;  // by stop tokens: all other ids
  int64_t weights_version_;
  int64_t policy_version_ = 0;
  ActivationRecord* record_ = nullptr;
  SamplerStats stats_;
  int64_t num_preemptions_ = 0;  // that stats_ has reported

  std::mutex mutex_;                    // of all below
  std::vector<Call> calls_;             // that no pass has seen yet
  std::unordered_set<RequestId> held_;  // held requests that were not cancelled
  std::pair<std::vector<std::string>, bool> checked_stops_{{}, true};  // stop strings, skip_special_tokens
  RequestId next_id_ = 0;
};

}  // namespace cohort
