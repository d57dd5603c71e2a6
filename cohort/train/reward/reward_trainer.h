// Fitting a reward model to preferences or to labelled steps: what cohort reward-train repeats.
#pragma once

#include <cstdint>
#include <vector>

#include "cohort/models/decoder.h"
#include "cohort/tasks/row_cursor.h"
#include "cohort/train/reward/reward_data.h"
#include "cohort/train/reward/reward_loss.h"
#include "cohort/train/run/optimizer.h"
#include "cohort/train/run/run_loop.h"

namespace cohort {

/// `loss`, `accuracy`, `margin` (of pairs), `min_reward`, `mean_reward`, `max_reward`: TRL's names.
Metrics reward_loss_metrics(const RewardLoss& loss, bool is_pair);

class RewardTrainer : public Trainer {
 public:
  /// All arguments but the settings must outlive this.
  RewardTrainer(const RewardTrainConfig& config, int64_t num_updates, Decoder& model,
                const RewardFormat& format, RowCursor& rows, AdamW& optimizer);

  StepReport step(int64_t index) override;
  Json save() const override;
  void load(const Json& state) override;

  /// The metrics of held-out examples, with `eval_` before their names; more accuracy is better.
  EvalRecord evaluate(const std::vector<RewardExample>& examples) const;

 private:
  RewardLossOptions options() const;

  RewardTrainConfig config_;
  int64_t num_updates_;
  Decoder& model_;
  RewardFormat format_;
  RowCursor& rows_;
  AdamW& optimizer_;
  int64_t num_tokens_ = 0;
};

}  // namespace cohort
