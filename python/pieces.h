// The single pieces of cohort/objectives as functions of the module, under their C++ names.
#pragma once

#include <pybind11/pybind11.h>

namespace cohort::python {

/// Ratios, surrogates, masks, KL estimates, weights and pairs: functions of tensors, mostly with gradient.
void add_loss_pieces(pybind11::module_& module);

/// Baselines, scales, filters, credit and controllers: functions of numbers, without gradient.
void add_advantage_pieces(pybind11::module_& module);

}  // namespace cohort::python
