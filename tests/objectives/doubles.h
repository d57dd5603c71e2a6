// Numbers written by hand.
#pragma once

#include <ATen/ATen.h>

#include <limits>
#include <vector>

namespace cohort {

/// No reward at all.
inline constexpr double kNoScore = std::numeric_limits<double>::quiet_NaN();

inline at::Tensor doubles(const std::vector<double>& values) { return at::tensor(values, at::kDouble); }

}  // namespace cohort
