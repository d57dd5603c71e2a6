// One call of Sampler::rollout under way.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cohort/sampler/sampler.h"
#include "cohort/text/incremental_detokenizer.h"

namespace cohort {

class Rollout {
 public:
  Rollout(const Decoder& decoder, const Tokenizer* tokenizer, KvCache& cache,
          const std::vector<Prompt>& prompts, const std::vector<int64_t>& group_sizes,
          const SamplingParams& params, RolloutAddress address, int64_t policy_version, int64_t num_pages,
          const OnCompletion& on_completion, ActivationRecord* record);

  /// Runs all passes. `on_token`, where there is one, is called with every token of the only completion.
  std::vector<Group> run(SamplerStats& stats, const OnToken& on_token = {});

 private:
  /// A completion while it grows.
  struct Growing {
    Completion completion;
    int64_t max_length = 0;
    std::optional<IncrementalDetokenizer> detokenizer;  // where there are stop strings
    std::string text;
    bool is_text_cut = false;  // before a stop string
  };
  /// A result row of the pass whose logits give the next token of these sequences.
  struct Draw {
    int64_t row;
    std::vector<int64_t> sequences;
    std::vector<SampledToken> tokens;  // of each of them, once drawn
  };
  /// The part of a pass that one thread forwards, or all of them together where it is the only one.
  struct Lane {
    std::span<const ScheduledRows> rows;
    std::vector<Draw> draws;
  };

  void assign_recorded_rows();
  std::vector<Lane> cut_into_lanes(const std::vector<ScheduledRows>& rows) const;
  void forward(Lane& lane, int64_t num_lanes) const;
  DecoderInput lay_out(Lane& lane) const;
  void draw_tokens(const at::Tensor& hidden, std::span<Draw> draws) const;
  void add_token(int64_t sequence, SampledToken token, const OnToken& on_token);
  bool is_complete(Growing& growing, int32_t id);
  bool completes_stop_string(Growing& growing, int32_t id);
  void finish(int64_t sequence);
  DecodeOptions decode_options() const { return {.skip_special_tokens = params_.skip_special_tokens}; }
  std::vector<int64_t> sequences_to_draw(const ScheduledRows& rows) const;
  const std::vector<int32_t>& tokens_of(const ScheduledRows& rows, int64_t& offset) const;

  const Decoder& decoder_;
  const Tokenizer* tokenizer_;
  KvCache& cache_;
  const std::vector<Prompt>& prompts_;
  const SamplingParams& params_;
  RolloutAddress address_;
  const OnCompletion& on_completion_;
  ActivationRecord* record_;  // null: nothing is recorded
  Scheduler scheduler_;
  int64_t policy_version_;
  std::vector<Growing> growing_;
  KeptIds without_stops_;  // null where the first token may stop
};

}  // namespace cohort
