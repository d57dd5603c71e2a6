// Rewards that are Python functions.
#pragma once

#include <pybind11/pybind11.h>

#include "cohort/reward_models/all_rewards.h"

namespace cohort::python {

/// The type `callable`: the function in `functions` that has the table's name. It is called once a step, on
/// the thread that takes it, with a list of (prompt id, text, token ids, messages, episode), the last two of
/// a completion with an environment, as JSON or None and as its number, and returns for each a number, None
/// for a row that it does not apply to, or a text that says why it failed. The scores throw
/// std::runtime_error in a forked child.
RewardTypes function_rewards(const pybind11::dict& functions);

}  // namespace cohort::python
