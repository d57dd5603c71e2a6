// What a product reads, where that is made from rows of something else: by a norm or an activation.
#pragma once

#include <ATen/ATen.h>

#include <functional>

namespace cohort {

/// What an InputOp made, and the gradient of what it was made from.
struct InputGradient {
  at::Tensor rows, source;
};

struct InputOp {
  explicit operator bool() const { return static_cast<bool>(rows); }

  /// Differentiable; the same bits each time.
  std::function<at::Tensor(const at::Tensor& source)> rows;

  /// From the gradient of the rows, on tensors that have a CPU kernel: both are cheaper to make together.
  /// Adds to the gradients of parameters. None: what autograd makes of `rows`.
  std::function<InputGradient(const at::Tensor& source, const at::Tensor& grad)> backward;
};

}  // namespace cohort
