// Supervised fine-tuning on prompt/completion pairs: the warm start of R1-style pipelines. The same packing
// and forward as in GRPO, loss on completions only.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "cohort/models/decoder.h"
#include "cohort/rl/prompt_source.h"
#include "cohort/text/tokenizer.h"
#include "cohort/train/config.h"
#include "cohort/train/optimizer.h"
#include "cohort/train/packing.h"
#include "cohort/train/run_loop.h"

namespace cohort {

struct SftExample {
  std::vector<int32_t> prompt_ids;
  Completion completion;  ///< its tokens, the end-of-sequence id last
};

/// Reads JSONL rows with the strings `prompt` and `completion` (`solution` where there is no `completion`);
/// the tokenizer's end-of-sequence id, or else the model's first stop id, is put behind each completion.
/// Throws FormatError naming the line.
std::vector<SftExample> read_sft_examples(const std::filesystem::path& path, const Tokenizer& tokenizer,
                                          const DecoderConfig& model);

/// One Prompt per example, whose field "row" is its index: what a PromptSource shuffles.
std::vector<Prompt> example_prompts(const std::vector<SftExample>& examples);

class SftTrainer : public Trainer {
 public:
  /// `source` yields prompts with the field "row". All arguments but the config must outlive this.
  SftTrainer(const SftConfig& config, int64_t num_updates, Decoder& model,
             const std::vector<SftExample>& examples, PromptSource& source, AdamW& optimizer);

  StepRecord step(int64_t index) override;
  Json save() const override;
  void load(const Json& state) override;

 private:
  struct Sums;
  void address_dropout(const std::vector<PackGroup>& microbatch, uint64_t first_sequence);
  Sums accumulate_gradient(const std::vector<Prompt>& batch);
  std::vector<Json> batch_rows(const std::vector<Prompt>& batch) const;

  SftConfig config_;
  int64_t num_updates_;
  Decoder& model_;
  const std::vector<SftExample>& examples_;
  PromptSource& source_;
  AdamW& optimizer_;
  int64_t num_tokens_ = 0;
};

}  // namespace cohort
