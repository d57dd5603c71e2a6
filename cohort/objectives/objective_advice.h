// What is known of whole compositions: those that are wrong, those that are doubtful, and what each costs.
#pragma once

#include <string>
#include <vector>

#include "cohort/objectives/presets.h"

namespace cohort {

/// Throws ConfigError with the reason for a composition that cannot be computed or is known to be wrong: what
/// check_loss_config and check_advantage_config refuse, and what only both together show, such as advantages
/// of tokens under one ratio of the whole sequence. Returns a line for everything that is doubtful.
std::vector<std::string> check_objective(const ObjectiveSettings& settings);

/// What the composition needs beside one forward and backward pass over the completions, one line each: extra
/// passes, extra rollouts, tensors of the size of the batch. Empty when nothing.
std::vector<std::string> objective_costs(const ObjectiveSettings& settings);

}  // namespace cohort
