// What the tests of operations share: leaves with gradient and the distance of two tensors.
#pragma once

#include <ATen/ATen.h>

namespace cohort {

inline at::Tensor leaf(const at::Tensor& x) { return x.detach().clone().set_requires_grad(true); }

inline double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}

}  // namespace cohort
