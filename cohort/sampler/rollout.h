// One call of Sampler::rollout under way.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cohort/sampler/sampler.h"
#include "cohort/text/incremental_detokenizer.h"

namespace cohort {

class Rollout {
 public:
  Rollout(const Decoder& decoder, const Tokenizer* tokenizer, KvCache& cache,
          const std::vector<Prompt>& prompts, int64_t num_generations, const SamplingParams& params,
          RolloutAddress address, int64_t policy_version, int64_t num_pages,
          const OnCompletion& on_completion);

  /// Runs all passes.
  std::vector<RolloutGroup> run(SamplerStats& stats);

 private:
  /// A completion while it grows.
  struct Growing {
    Completion completion;
    int64_t max_length = 0;
    std::optional<IncrementalDetokenizer> detokenizer;  // where there are stop strings
    std::string text;
    bool is_text_cut = false;  // a stop string was found
  };
  /// A row of the pass whose logits give the next token of these sequences.
  struct Draw {
    int64_t row;
    std::vector<int64_t> sequences;
  };

  DecoderInput lay_out(const Schedule& schedule, std::vector<Draw>& draws);
  void draw_tokens(const at::Tensor& hidden, const std::vector<Draw>& draws);
  void add_token(int64_t sequence, SampledToken token);
  bool is_complete(Growing& growing, int32_t id);
  bool completes_stop_string(Growing& growing, int32_t id);
  void finish(int64_t sequence);
  std::vector<int64_t> sequences_to_draw(const ScheduledRows& rows) const;
  const std::vector<int32_t>& tokens_of(const ScheduledRows& rows, int64_t& offset) const;

  const Decoder& decoder_;
  const Tokenizer* tokenizer_;
  KvCache& cache_;
  const std::vector<Prompt>& prompts_;
  int64_t num_generations_;
  const SamplingParams& params_;
  RolloutAddress address_;
  const OnCompletion& on_completion_;
  Scheduler scheduler_;
  std::vector<Growing> growing_;
};

}  // namespace cohort
