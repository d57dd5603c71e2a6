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
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "cohort/models/decoder.h"
#include "cohort/rl/types.h"
#include "cohort/sampler/growing_request.h"
#include "cohort/sampler/request.h"
#include "cohort/sampler/sampler_stats.h"
#include "cohort/sampler/sampling.h"
#include "cohort/sampler/scheduler.h"
#include "cohort/text/tokenizer.h"

namespace cohort {

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
  /// for these tokens and one more, none is added, and it ends by length.
  /// `max_turn_length` takes the place of the request's from this turn on. Throws
  /// UserError for a request that is not held, and ConfigError for ids outside the vocabulary.
  void extend(RequestId id, std::vector<int32_t> token_ids, std::optional<int64_t> max_turn_length = {});

  /// Continues the held request `id`, which has ended by its turn's length or was forked, in the same turn
  /// until that has `max_turn_length` tokens. Throws UserError for a request that is not held.
  void resume(RequestId id, int64_t max_turn_length);

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

  /// The record that takes the activations of the requests that begin from now on, those included that wait
  /// for the next pass; null: none does. It must have room for each request's prompt and longest completion,
  /// and outlive the requests. Throws InternalError if it changes while a request that is recorded is alive.
  void set_record(ActivationRecord* record);

  /// The work since the last call.
  SamplerStats take_stats();

  int64_t num_pages() const { return num_pages_; }
  int64_t num_cached_pages() const { return scheduler_.num_cached_pages(); }

 private:
  struct Extension {
    RequestId id;
    std::vector<int32_t> token_ids;
    std::optional<int64_t> max_turn_length;
  };
  struct Resumption {
    RequestId id;
    int64_t max_turn_length;
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
  using Call = std::variant<Addition, Extension, Resumption, Fork, RequestId>;  // an id alone is cancelled

  void take_calls();
  void take(Addition& addition);
  void take(Extension& extension);
  void take(const Resumption& resumption);
  void take(Fork& fork);
  void go_on(int64_t sequence);
  void take(RequestId cancelled);
  bool has_calls();
  void check_held(RequestId id) const;
  GrowingRequest& start(int64_t sequence, RequestId id, Request request);

  void add_token(int64_t sequence, SampledToken token);
  void end(int64_t sequence);
  void remove(int64_t sequence);

  const Decoder& decoder_;
  const Tokenizer* tokenizer_;
  int64_t num_pages_;
  KvCache cache_;
  Scheduler scheduler_;
  std::vector<GrowingRequest> growing_;                    // by the scheduler's index of the sequence
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
