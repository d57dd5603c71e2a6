// Whole runs from a recipe: what `cohort train`, `cohort sft`, `cohort dpo` and `cohort reward-train` do.
#pragma once

#include "cohort/train/config.h"
#include "cohort/train/dpo_config.h"
#include "cohort/train/reward_train_config.h"

namespace cohort {

/// Runs `config` in config.run.dir, or continues what is there where `resume` is set. Returns the exit code.
/// Throws UserError for whatever the user can mend.
int run_grpo(const TrainConfig& config, bool resume);
int run_sft(const SftConfig& config, bool resume);
int run_dpo(const DpoConfig& config, bool resume);
int run_reward_train(const RewardTrainConfig& config, bool resume);

}  // namespace cohort
