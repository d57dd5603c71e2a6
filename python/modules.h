// The parts of the extension `cohort._cohort`, a submodule each.
#pragma once

#include <pybind11/pybind11.h>

namespace cohort::python {

/// `objectives`: losses, advantages and their pieces (python/cohort/objectives.py).
void add_objectives(pybind11::module_ module);

/// `engine`: a model that samples and trains (python/cohort/engine.py).
void add_engine(pybind11::module_ module);

}  // namespace cohort::python
