// Environments that are Python objects.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>

#include "cohort/env/environment.h"

namespace cohort::python {

/// `environments` has `schemas`, the JSON schemas of its tools as text, `gives_states`, `gives_turn_rewards`
/// and the functions
///   begin([prompt id, ...]) -> [(number, observation, failure, state), ...]
///   respond(number, calls, answer), which calls answer(messages, number of failed calls, [(tool, seconds)],
///   reward, state, failure) judge(number, answer), which calls answer(score, failure)
/// as python/cohort/trainer/environments.py says; they answer later, from any thread. Calls and messages are
/// JSON text; reward, state and score may be None.
std::unique_ptr<Environment> python_environment(const pybind11::object& environments);

}  // namespace cohort::python
