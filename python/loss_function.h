// A loss written in Python.
#pragma once

#include <pybind11/pybind11.h>

#include "cohort/train/grpo/policy_loss.h"

namespace cohort::python {

/// Calls function(policy_logprobs, old_logprobs, advantages, mask, columns) -> (loss, {metric: number}) with
/// the micro-batch's tokens with loss, padded to [N, T]; metrics add up over micro-batches. Borrows
/// `function`, and takes the global lock for each call.
LossFunction loss_function(const pybind11::function& function);

}  // namespace cohort::python
