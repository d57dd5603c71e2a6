// The sampler: groups of completions from a decoder, by continuous batching over a paged cache.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "cohort/models/decoder.h"
#include "cohort/rl/batch.h"
#include "cohort/sampler/engine.h"
#include "cohort/sampler/request_checks.h"
#include "cohort/sampler/sampling.h"
#include "cohort/sampler/tree_shape.h"
#include "cohort/sampler/turn_handler.h"
#include "cohort/text/tokenizer.h"

namespace cohort {

/// The address of a rollout's random numbers: token t of sample g of prompt p is drawn at (seed, step, p, g,
/// t).
struct RolloutAddress {
  uint64_t seed = 0;
  uint64_t step = 0;
  uint64_t first_prompt = 0;              ///< p of the first prompt
  uint64_t first_sample = 0;              ///< g of the first completion of each prompt
  std::vector<uint64_t> prompts{};        ///< p of each prompt, if they do not count up from first_prompt
  std::vector<uint64_t> first_samples{};  ///< g of each prompt's first completion, if they differ

  uint64_t prompt_number(size_t prompt) const {
    return prompts.empty() ? first_prompt + prompt : prompts[prompt];
  }
  uint64_t first_sample_of(size_t prompt) const {
    return first_samples.empty() ? first_sample : first_samples[prompt];
  }
};

/// Called as each completion ends, in the order in which they end; `prompt` counts from 0 in the rollout.
using OnCompletion = std::function<void(int64_t prompt, int64_t sample, const Completion& completion)>;

/// The page budget that a sampler chooses for prompts of these lengths: the rollout's need, up to a
/// quarter of the machine's memory, and at least one completion's need. A group size for each prompt.
int64_t default_cache_pages(const DecoderConfig& config, at::ScalarType compute,
                            const std::vector<int64_t>& prompt_lengths,
                            const std::vector<int64_t>& group_sizes, int64_t max_completion_length);

/// Rows that a rollout forwards when all completions take their full length, each once.
int64_t rows_of_rollout(const std::vector<Prompt>& prompts, const std::vector<int64_t>& group_sizes,
                        int64_t max_completion_length, const DecoderConfig& config);

/// Rollouts on an engine: whole groups of completions in one call. Its prefix cache outlives a call.
class Sampler {
 public:
  /// `cache_tokens`: the page budget in tokens; 0 takes a rollout's need, up to a quarter of the
  /// machine's memory. `tokenizer` may be null: completions then have no text, and stop strings are refused.
  /// Both must outlive this.
  Sampler(const Decoder& decoder, const Tokenizer* tokenizer, int64_t cache_tokens);

  /// `num_generations` completions of each prompt. Tokens and log-probabilities do not depend on
  /// the batch, the page budget or the number of threads. Throws UserError for a prompt that leaves no room
  /// in the context and ConfigError when the page budget cannot hold one completion.
  std::vector<Group> rollout(const std::vector<Prompt>& prompts, int64_t num_generations,
                             const SamplingParams& params, const RolloutAddress& address,
                             int64_t policy_version = 0, const OnCompletion& on_completion = {});

  /// The same with `group_sizes[p]` completions of prompt p. `record`, if not null, was begun for the
  /// current weights and gets the activations of this rollout's rows; it must have room for them:
  /// rows_of_rollout(). `turns`, if not null, decides when a completion that has drawn a turn goes on;
  /// nothing is recorded then.
  std::vector<Group> rollout(const std::vector<Prompt>& prompts, const std::vector<int64_t>& group_sizes,
                             const SamplingParams& params, const RolloutAddress& address,
                             int64_t policy_version = 0, const OnCompletion& on_completion = {},
                             ActivationRecord* record = nullptr, TurnHandler* turns = nullptr);

  /// The same with a tree of completions of each prompt (tree_rollout.h), whose forks have Sample::fork.
  std::vector<Group> rollout_trees(const std::vector<Prompt>& prompts,
                                   const std::vector<int64_t>& group_sizes, const SamplingParams& params,
                                   TreeShape shape, const RolloutAddress& address, int64_t policy_version = 0,
                                   const OnCompletion& on_completion = {});

  /// One completion of `prompt`, whose tokens `on_token` gets one by one: the completion of rollout(), or its
  /// beginning. A completion that `on_token` ends has FinishReason::kLength. The prefix cache
  /// keeps it, so that a conversation can continue from it. Throws as rollout() does.
  Completion stream(const Prompt& prompt, const SamplingParams& params, const RolloutAddress& address,
                    const OnToken& on_token);

  /// Calls `on_pass` after each pass from now on. What it throws ends the rollout, and its requests are gone.
  void set_on_pass(std::function<void()> on_pass) { on_pass_ = std::move(on_pass); }

  /// Frees the memory of keys and values, and with it the prefix cache.
  void release_cache() { engine_.reset(); }

  /// The work of the last call.
  const SamplerStats& stats() const { return stats_; }

 private:
  Engine& engine_for(const std::vector<int64_t>& prompt_lengths, const std::vector<int64_t>& group_sizes,
                     int64_t max_length);
  void run(Engine& engine, TurnHandler* turns = nullptr);
  template <typename F>
  void run(Engine& engine, F after_pass);
  static DrawAddress draw_address(const RolloutAddress& address, size_t prompt, int64_t sample);

  const Decoder& decoder_;
  const Tokenizer* tokenizer_;
  int64_t cache_tokens_;
  std::unique_ptr<Engine> engine_;
  std::function<void()> on_pass_;
  SamplerStats stats_;
};

}  // namespace cohort
