// `cohort adversarial-train` as a whole.
#pragma once

#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cohort/agent/episode_setup.h"
#include "cohort/tasks/dataset_source.h"
#include "cohort/train/adversarial/adversarial_config.h"
#include "cohort/train/adversarial/adversarial_trainer.h"
#include "cohort/train/run/run.h"
#include "cohort/train/run/run_data.h"

namespace cohort {

class AdversarialRun : public Run {
 public:
  /// Opens or continues the run in config.run.dir. Throws UserError for whatever the user can fix.
  AdversarialRun(const AdversarialConfig& config, const ResumeOptions& options);

  /// Throws ConfigError: `cohort eval` evaluates the adapters.
  Metrics evaluate_on(const std::vector<std::string>& files) override;

  /// The attacker.
  Decoder& model() override { return *attacker_.policy; }
  Trainer& trainer() override { return *trainer_; }
  const ModelConfig& model_config() const override { return config_.model; }

 private:
  TextFormat format_for(const Json& tools) const;
  void check_defender_prompts() const;
  void open(const ResumeOptions& options);

  EpisodeSetup episodes_;  // the defender's
  AdversarialConfig config_;
  std::tm start_;
  std::unique_ptr<Decoder> base_;  // until both policies have it
  std::unique_ptr<const Tokenizer> tokenizer_;
  TextFormat format_, defender_format_;
  Dataset data_;
  int64_t num_steps_;
  std::shared_ptr<PlayAttacks> play_ = std::make_shared<PlayAttacks>();
  DatasetSource prompts_;
  AttackPrompts attacks_{prompts_};
  PolicySide defender_, attacker_;
  std::optional<AdversarialTrainer> trainer_;
};

/// Runs `config` in config.run.dir, or continues what is there if the options say so. Returns the exit code.
/// Throws UserError for whatever the user can fix.
int run_adversarial(const AdversarialConfig& config, const ResumeOptions& options);

}  // namespace cohort
