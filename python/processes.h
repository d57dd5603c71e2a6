// The processes of a job, as a program in Python is one of them.
#pragma once

#include <pybind11/pybind11.h>

#include "cohort/dist/group.h"

namespace cohort::python {

/// The processes that a launcher started, which share a run. The first call waits for all of them, once in
/// the life of the program, which leaves them at its end. To be called without the global lock. Throws
/// ConfigError naming those that do not come, and std::runtime_error in a forked child of one of several.
dist::Group& processes();

/// `Processes` and `RankLost`.
void add_processes(pybind11::module_& module);

}  // namespace cohort::python
