// A whole run of `cohort reward-train`.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "cohort/tasks/row_cursor.h"
#include "cohort/train/reward/reward_data.h"
#include "cohort/train/reward/reward_train_config.h"
#include "cohort/train/reward/reward_trainer.h"
#include "cohort/train/run/run.h"

namespace cohort {

class RewardRun : public Run {
 public:
  /// Opens or continues the run in config.run.dir. Throws UserError for whatever the user can fix.
  RewardRun(const RewardTrainConfig& config, const ResumeOptions& options);

  Metrics evaluate_on(const std::vector<std::string>& files) override;
  Decoder& model() override { return *model_; }
  Trainer& trainer() override { return *trainer_; }
  const ModelConfig& model_config() const override { return config_.model; }

 private:
  RewardTrainConfig config_;
  std::tm start_;
  std::unique_ptr<Decoder> model_;
  std::unique_ptr<const Tokenizer> tokenizer_;
  RewardFormat format_;
  Dataset data_;
  std::vector<RewardExample> held_out_;
  RowCursor rows_;
  AdamW optimizer_;
  std::optional<RewardTrainer> trainer_;
};

/// Runs `config` in config.run.dir, or continues what is there if the options say so. Returns the exit code.
/// Throws UserError for whatever the user can fix.
int run_reward_train(const RewardTrainConfig& config, const ResumeOptions& options);

}  // namespace cohort
