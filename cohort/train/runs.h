// Whole runs from a recipe: what `cohort train` and `cohort sft` do.
#pragma once

#include "cohort/train/config.h"

namespace cohort {

/// Runs `config` in config.run.dir, or continues what is there where `resume` is set. Returns the exit code.
/// Throws UserError for whatever the user can mend.
int run_grpo(const TrainConfig& config, bool resume);
int run_sft(const SftConfig& config, bool resume);

}  // namespace cohort
