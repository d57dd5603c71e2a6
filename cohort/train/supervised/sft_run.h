// A whole run of `cohort sft`.
#pragma once

#include "cohort/train/run/resume.h"
#include "cohort/train/supervised/sft_config.h"

namespace cohort {

/// Runs `config` in config.run.dir, or continues what is there if the options say so. Returns the exit code.
/// Throws UserError for whatever the user can fix.
int run_sft(const SftConfig& config, const ResumeOptions& options);

}  // namespace cohort
