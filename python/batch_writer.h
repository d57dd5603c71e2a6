// From the engine's values to those of python/cohort/batch.py.
#pragma once

#include <pybind11/pybind11.h>

#include <vector>

#include "cohort/rl/batch.h"

namespace cohort::python {

/// [(prompt_ids, text, [(token_ids, logprobs, text, finish_reason, kept_ids or None), ...]), ...]
pybind11::list to_python(const std::vector<Group>& groups);

/// [[float32 tensor, ...], ...]: a column of each sample.
pybind11::list column_to_python(const std::vector<Group>& groups, const std::vector<float> Sample::* column);

}  // namespace cohort::python
