// A whole run of `cohort reward-train`.
#pragma once

#include "cohort/train/reward/reward_train_config.h"
#include "cohort/train/run/resume.h"

namespace cohort {

/// Runs `config` in config.run.dir, or continues what is there if the options say so. Returns the exit code.
/// Throws UserError for whatever the user can fix.
int run_reward_train(const RewardTrainConfig& config, const ResumeOptions& options);

}  // namespace cohort
