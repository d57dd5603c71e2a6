// Supervised fine-tuning on prompt/completion pairs: the warm start of R1-style pipelines. The same packing
// and forward as in GRPO, loss on completions only.
#pragma once

#include <cstdint>
#include <vector>

#include "cohort/models/decoder.h"
#include "cohort/tasks/row_cursor.h"
#include "cohort/train/run/optimizer.h"
#include "cohort/train/run/packing.h"
#include "cohort/train/run/run_data.h"
#include "cohort/train/run/run_loop.h"
#include "cohort/train/supervised/sft_config.h"

namespace cohort {

class SftTrainer : public Trainer {
 public:
  /// All arguments but the settings must outlive this.
  SftTrainer(const SftConfig& config, int64_t num_updates, Decoder& model, const SftFormat& format,
             RowCursor& rows, AdamW& optimizer);

  StepReport step(int64_t index) override;
  Json save() const override;
  void load(const Json& state) override;

  /// The loss and entropy of held-out examples, with `eval_` before their names; the smallest loss is the
  /// best.
  EvalRecord evaluate(const std::vector<SftExample>& held_out);

 private:
  struct Sums;
  std::vector<SftExample> next_examples();
  AdapterUse adapters_for(const std::vector<PackGroup>& microbatch, uint64_t first_sequence) const;

  /// Adds the gradient of the batch's mean loss to the model's leaves where gradients are on.
  Sums accumulate_gradient(const std::vector<SftExample>& batch);

  SftConfig config_;
  int64_t num_updates_;
  Decoder& model_;
  SftFormat format_;
  RowCursor& rows_;
  AdamW& optimizer_;
  int64_t num_tokens_ = 0;
};

}  // namespace cohort
