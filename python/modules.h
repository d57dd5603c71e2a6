// The parts of the extension `cohort._cohort`, a submodule each.
#pragma once

#include <pybind11/pybind11.h>

namespace cohort::python {

/// `objectives`: losses, advantages and their pieces (python/cohort/objectives.py).
void add_objectives(pybind11::module_ module);

/// `engine`: a model that samples and trains (python/cohort/engine.py).
void add_engine(pybind11::module_ module);

/// `trainer`: a run of GRPO, step by step (python/cohort/trainer).
void add_trainer(pybind11::module_ module);

/// `rewards`: built-in rewards by name (python/cohort/rewards.py).
void add_rewards(pybind11::module_ module);

}  // namespace cohort::python
