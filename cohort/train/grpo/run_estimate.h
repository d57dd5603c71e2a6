// `cohort preflight`: what a recipe would do, estimated from a few steps that it takes for trial.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "cohort/core/json.h"
#include "cohort/train/grpo/preflight.h"
#include "cohort/train/grpo/train_config.h"

namespace cohort {

/// What a reward made of the trial's completions.
struct RewardTrial {
  std::string name;
  double mean = 0.0;                        ///< of the cells that are ok; NaN without any
  std::map<std::string, int64_t> counts{};  ///< cells by status
  std::string failure{};  ///< the first failed cell: prompt, status and detail; empty if none failed
};

struct RunEstimate {
  std::vector<Finding> findings{};  ///< the worst first

  // The completions of the trial's steps, also those that were drawn and not trained on.
  int64_t num_completions = 0, num_groups = 0;
  int64_t num_trained = 0;                ///< completions that are trained on
  int64_t num_cut = 0;                    ///< completions that reached the length limit
  int64_t num_without_difference = 0;     ///< groups
  double mean_tokens = 0.0;               ///< sampled tokens of a completion
  bool compares_groups = true;            ///< groups without difference teach nothing
  double reward = 0.0, reward_std = 0.0;  ///< of the trained ones that could be judged; NaN without any
  double drawn_reward = 0.0;              ///< mean over all that could be judged; NaN without any
  std::vector<RewardTrial> rewards{};

  // Time in seconds.
  int64_t trial_prompts = 0, step_prompts = 0;  ///< of a step in the trial and in the run
  double tokens_per_s = 0.0;                    ///< prompt and completion tokens of a step
  double step_s = 0.0;                          ///< of the run
  int64_t num_steps = 0;
  double evaluation_s = 0.0;  ///< of each
  int64_t num_evaluations = 0;

  // Memory in bytes.
  int64_t planned_memory = 0, machine_memory = 0;

  /// Of the whole run. Lengths of completions are taken to stay as they are in the trial.
  double run_s() const {
    return step_s * static_cast<double>(num_steps) + evaluation_s * static_cast<double>(num_evaluations);
  }
};

/// Draws a trial, takes a few whole steps of the run in the existing directory `scratch`, checks what they
/// drew, and times an evaluation. If a step would take more than some 20 seconds, the trial's steps have 32
/// completions and times are scaled by the number of prompts. Throws UserError for what `cohort train` would
/// refuse.
RunEstimate estimate_run(const TrainConfig& config, const std::filesystem::path& scratch);

/// A table for a person; `price_per_hour` of the machine adds what the run costs, 0 leaves it out.
std::string describe(const RunEstimate& estimate, double price_per_hour);

Json to_json(const RunEstimate& estimate, double price_per_hour);

}  // namespace cohort
