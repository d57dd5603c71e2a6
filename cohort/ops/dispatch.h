// Which tensors the hand-written CPU kernels serve; all others take the plain ATen formula of the same
// operation.
#pragma once

#include <ATen/ATen.h>

namespace cohort {

/// float32 and bfloat16 on the CPU. float64 (tests) and other devices go through ATen and autograd.
inline bool has_cpu_kernel(const at::Tensor& x) {
  return x.is_cpu() && (x.scalar_type() == at::kFloat || x.scalar_type() == at::kBFloat16);
}

/// Calls `f.template operator()<T>()` with the C++ type of `x`: float or at::BFloat16.
template <typename F>
void dispatch_float(const at::Tensor& x, F f) {
  if (x.scalar_type() == at::kFloat) {
    f.template operator()<float>();
  } else {
    f.template operator()<at::BFloat16>();
  }
}

/// `x` rounded to bfloat16 and back where `compute` is bfloat16, else `x` itself: a small parameter (norm,
/// bias) as the forward uses it, in float32.
inline at::Tensor round_to(const at::Tensor& x, at::ScalarType compute) {
  return compute == at::kBFloat16 ? x.to(at::kBFloat16).to(x.scalar_type()) : x;
}

}  // namespace cohort
