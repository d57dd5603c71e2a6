// Whole runs from a recipe: what `cohort train`, `cohort sft`, `cohort dpo` and `cohort reward-train` do.
#pragma once

#include "cohort/train/grpo/train_config.h"
#include "cohort/train/preference/dpo_config.h"
#include "cohort/train/reward/reward_train_config.h"
#include "cohort/train/run/resume.h"
#include "cohort/train/supervised/sft_config.h"

namespace cohort {

/// Runs `config` in config.run.dir, or continues what is there where the options say so. Returns the exit
/// code. Throws UserError for whatever the user can mend.
int run_grpo(const TrainConfig& config, const ResumeOptions& options);
int run_sft(const SftConfig& config, const ResumeOptions& options);
int run_dpo(const DpoConfig& config, const ResumeOptions& options);
int run_reward_train(const RewardTrainConfig& config, const ResumeOptions& options);

}  // namespace cohort
