// A whole run of `cohort dpo`.
#pragma once

#include "cohort/train/preference/dpo_config.h"
#include "cohort/train/run/resume.h"

namespace cohort {

/// Runs `config` in config.run.dir, or continues what is there if the options say so. Returns the exit code.
/// Throws UserError for whatever the user can fix.
int run_dpo(const DpoConfig& config, const ResumeOptions& options);

}  // namespace cohort
