// Autograd against central differences in float64, and comparisons with hand-computed numbers.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace cohort {

using TensorFunction = std::function<at::Tensor(const at::Tensor&)>;

inline void expect_all_near(const at::Tensor& actual, const std::vector<double>& expected,
                            double tolerance = 1e-12) {
  ASSERT_EQ(actual.numel(), std::ssize(expected));
  for (int64_t i = 0; i < std::ssize(expected); ++i)
    EXPECT_NEAR(actual[i].item<double>(), expected[i], tolerance) << i;
}

/// The gradient of the sum of f at `point` [M], by autograd.
inline at::Tensor gradient_of(const TensorFunction& f, const at::Tensor& point) {
  const at::Tensor leaf = point.detach().clone().requires_grad_();
  f(leaf).sum().backward();
  return leaf.grad().defined() ? leaf.grad() : at::zeros_like(point);
}

/// The gradient of the sum of f at `point` [M], by central differences. What f holds constant for autograd
/// must not depend on its argument.
inline at::Tensor slopes_of(const TensorFunction& f, const at::Tensor& point) {
  const double step = 1e-6;
  at::Tensor slopes = at::zeros_like(point);
  for (int64_t i = 0; i < point.size(0); ++i) {
    const auto value_at = [&](double shift) {
      at::Tensor moved = point.detach().clone();
      moved[i] += shift;
      return f(moved).sum().item<double>();
    };
    slopes[i] = (value_at(step) - value_at(-step)) / (2 * step);
  }
  return slopes;
}

inline void expect_gradient_is_slope(const TensorFunction& f, const at::Tensor& point,
                                     double tolerance = 1e-7) {
  const at::Tensor difference = (gradient_of(f, point) - slopes_of(f, point)).abs();
  EXPECT_LT(difference.max().item<double>(), tolerance) << difference;
  EXPECT_GT(slopes_of(f, point).abs().max().item<double>(), 0.0);
}

}  // namespace cohort
