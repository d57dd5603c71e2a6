// The gated activation of the MLP, arXiv:2002.05202 eq. 6.
#pragma once

#include <ATen/ATen.h>

namespace cohort {

/// `gate_up` [N, 2F] holds gate | up; returns silu(gate) * up [N, F], computed in float32 and rounded once.
/// Gradient to gate_up.
at::Tensor swiglu(const at::Tensor& gate_up);

}  // namespace cohort
