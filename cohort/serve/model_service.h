// The engine behind a server: requests from any thread, drawn by one.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <vector>

#include "cohort/sampler/engine.h"

namespace cohort {

class ModelService {
 public:
  /// As Engine's constructor.
  ModelService(const Decoder& decoder, const Tokenizer& tokenizer, int64_t num_pages)
      : decoder_(decoder), engine_(decoder, &tokenizer, num_pages) {}

  // Any thread may call these.

  /// Throws as Engine::add does. Callbacks run on the thread that draws and must not throw.
  RequestId add(Request request);
  void cancel(RequestId id);

  /// Runs `job` on the thread that draws, between two passes.
  void post(std::function<void()> job);

  /// Draws until `is_over` returns true; it is asked ten times a second at least.
  void run(const std::function<bool()>& is_over);

  const Decoder& decoder() const { return decoder_; }

 private:
  void wake();
  bool run_jobs();

  const Decoder& decoder_;
  Engine engine_;
  std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  bool has_news_ = false;
  std::vector<std::function<void()>> jobs_;
};

/// The log-probabilities of a prompt's tokens, each with its likeliest `num_top_logprobs` ids. That of the
/// first token is NaN, since nothing predicts it.
std::vector<SampledToken> prompt_logprobs(const Decoder& decoder, const std::vector<int32_t>& prompt,
                                          int64_t num_top_logprobs);

}  // namespace cohort
