// The game `guess_number`: the policy finds a hidden number and learns after each guess where it lies.
#pragma once

#include "cohort/env/environment.h"

namespace cohort {

/// The number lies between the row's `low` and `high`, 1 and 100 if it has none. Each turn is a guess: its
/// last integer. The replies are "higher", "lower" and, for a turn without an integer, "no number"; the right
/// number ends the episode. The reward is 1 for the number, less by `cost` for each wrong turn, and 0 without
/// it.
std::unique_ptr<Environment> make_guess_number(double cost);

}  // namespace cohort
