// Environments that are Python objects.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>

#include "cohort/env/environment.h"

namespace cohort::python {

/// `environments` has `schemas`, the JSON schemas of its tools as text, and the functions
///   begin([prompt id, ...]) -> [(number, observation, failure), ...]
///   respond(number, calls, answer), which calls answer(messages, number of failed calls) later, from any
///   thread
/// as python/cohort/trainer/environments.py says; calls and messages are JSON text.
std::unique_ptr<Environment> python_environment(const pybind11::object& environments);

}  // namespace cohort::python
