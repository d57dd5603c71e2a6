// Warnings before the first step of a run, from its settings and from a trial.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cohort/train/grpo/trial.h"

namespace cohort {

enum class Severity : uint8_t {
  kError,    ///< nothing would be learnt: the run is refused
  kWarning,  ///< the run goes on
  kNote,     ///< what happens, where a user might expect otherwise
};

struct Finding {
  Severity severity = Severity::kWarning;
  std::string text{};  ///< one line: what is wrong, with which setting, and what to do
};

/// Findings about settings, model and data: no stop token, a context that is too short, sections that
/// no completion can have. `prompt` is one of the run's.
std::vector<Finding> settings_findings(const RunPlan& plan, const Prompt& prompt);

/// Findings about rewards that fail in the trial.
std::vector<Finding> reward_findings(const TrainConfig& config, const Trial& trial);

/// Findings about the trial's completions and scores: all cut, no answer, no difference.
std::vector<Finding> completion_findings(const TrainConfig& config, const Trial& trial);

/// Draws a trial and returns all findings, the worst first.
std::vector<Finding> preflight(const RunPlan& plan, const Decoder& policy, RewardScorer& scorer);

/// Writes at most five findings to standard error. Throws ConfigError with the first error.
void report_findings(const std::vector<Finding>& findings);

}  // namespace cohort
