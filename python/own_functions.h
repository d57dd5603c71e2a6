// Losses and advantages that are Python functions.
#pragma once

#include <pybind11/pybind11.h>

#include "cohort/train/grpo/own_functions.h"

namespace cohort::python {

/// Calls function(policy_logprobs, old_logprobs, advantages, mask, columns) -> (loss, {metric: number}) with
/// the micro-batch's tokens with loss, padded to [N, T]; metrics add up over micro-batches. Keeps `function`,
/// and takes the global lock for each call.
LossFunction loss_function(pybind11::function function);

/// Calls function(rewards, groups) -> [N] float64, as an AdvantageFunction.
AdvantageFunction advantage_function(pybind11::function function);

}  // namespace cohort::python
