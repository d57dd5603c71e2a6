// The gated activation of the MLP, arXiv:2002.05202 eq. 6.
#pragma once

#include <ATen/ATen.h>

#include "cohort/ops/activation.h"
#include "cohort/ops/input_op.h"

namespace cohort {

/// `gate_up` [N, 2F] holds gate | up; returns activation(gate) * up [N, F], computed in float32 and rounded
/// once. Gradient to gate_up.
at::Tensor gated_activation(const at::Tensor& gate_up, Activation activation);

/// The same as what a product reads.
InputOp gated_input(Activation activation);

}  // namespace cohort
