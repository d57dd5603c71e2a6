// A whole run of `cohort dpo`.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "cohort/tasks/row_cursor.h"
#include "cohort/train/preference/dpo_config.h"
#include "cohort/train/preference/dpo_trainer.h"
#include "cohort/train/run/run.h"

namespace cohort {

/// The pairs of a run's evaluations.
struct HeldOutPairs {
  std::vector<PreferenceExample> examples;
  int64_t longest = 0;  ///< tokens of the longest prompt with its longer completion
};

class DpoRun : public Run {
 public:
  /// Opens or continues the run in config.run.dir. Throws UserError for whatever the user can fix.
  DpoRun(const DpoConfig& config, const ResumeOptions& options);

  Metrics evaluate_on(const std::vector<std::string>& files) override;
  Decoder& model() override { return *policy_; }
  Trainer& trainer() override { return *trainer_; }
  const ModelConfig& model_config() const override { return config_.model; }

 private:
  ReferenceSums reference_sums() const;

  DpoConfig config_;
  std::tm start_;
  std::unique_ptr<Decoder> policy_;
  std::unique_ptr<const Tokenizer> tokenizer_;
  SftFormat format_;
  Dataset data_;
  HeldOutPairs held_out_;
  std::unique_ptr<Decoder> reference_;  // with weights of its own
  RowCursor rows_;
  AdamW optimizer_;
  std::optional<DpoTrainer> trainer_;
};

/// Runs `config` in config.run.dir, or continues what is there if the options say so. Returns the exit code.
/// Throws UserError for whatever the user can fix.
int run_dpo(const DpoConfig& config, const ResumeOptions& options);

}  // namespace cohort
