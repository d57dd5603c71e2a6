// Tensors written by hand.
#pragma once

#include <ATen/ATen.h>

#include <vector>

namespace cohort {

inline at::Tensor doubles(const std::vector<double>& values) { return at::tensor(values, at::kDouble); }

}  // namespace cohort
