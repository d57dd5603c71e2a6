// Warnings before the first step of a run, from its settings and from a trial. Shares are judged by the
// thresholds of `cohort explain`.
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

/// Findings about the learning rate: too low to move a weight in the whole run, or so high that one update
/// replaces the weights.
std::vector<Finding> rate_findings(const RunPlan& plan);

/// A step's completions before its update.
struct StepFigures {
  double mean_length = 0.0, length_error = 0.0;  ///< tokens, and the standard error of the mean
  double entropy = 0.0;                          ///< nats; 0 where it was not measured
};

/// A finding if the first updates move length or entropy far.
std::vector<Finding> movement_findings(const TrainConfig& config, const std::vector<StepFigures>& steps);

/// Whether rewards are compared within groups, so that a group without difference teaches nothing.
bool compares_groups(const TrainConfig& config);

/// Findings about rewards that fail in the trial.
std::vector<Finding> reward_findings(const TrainConfig& config, const Trial& trial);

/// Findings about the trial's completions and scores: cut, no answer, no difference.
std::vector<Finding> completion_findings(const TrainConfig& config, const Trial& trial);

/// All findings from the plan and a trial, the worst first.
std::vector<Finding> preflight(const RunPlan& plan, const Trial& trial);

/// Writes at most five findings to standard error. Throws ConfigError with the first error.
void report_findings(const std::vector<Finding>& findings);

}  // namespace cohort
