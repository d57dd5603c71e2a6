// A whole run of `cohort sft`.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "cohort/tasks/row_cursor.h"
#include "cohort/train/run/run.h"
#include "cohort/train/run/run_data.h"
#include "cohort/train/supervised/sft_config.h"
#include "cohort/train/supervised/sft_trainer.h"

namespace cohort {

class SftRun : public Run {
 public:
  /// Opens or continues the run in config.run.dir. Throws UserError for whatever the user can fix.
  SftRun(const SftConfig& config, const ResumeOptions& options);

  Metrics evaluate_on(const std::vector<std::string>& files) override;
  Decoder& model() override { return *model_; }
  Trainer& trainer() override { return *trainer_; }
  const ModelConfig& model_config() const override { return config_.model; }

 private:
  SftConfig config_;
  std::tm start_;
  std::unique_ptr<Decoder> model_;
  std::unique_ptr<const Tokenizer> tokenizer_;
  SftFormat format_;
  Dataset data_;
  std::vector<SftExample> held_out_;
  RowCursor rows_;
  AdamW optimizer_;
  std::optional<SftTrainer> trainer_;
};

/// Runs `config` in config.run.dir, or continues what is there if the options say so. Returns the exit code.
/// Throws UserError for whatever the user can fix.
int run_sft(const SftConfig& config, const ResumeOptions& options);

}  // namespace cohort
