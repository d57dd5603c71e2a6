// What the tests of operations in both precisions share: random inputs, and the comparison with float64.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "cohort/ops/linear.h"
#include "cohort/ops/moe.h"
#include "tests/ops/tensors.h"

namespace cohort {

inline at::Tensor randn(at::IntArrayRef sizes, at::ScalarType dtype = at::kFloat) {
  return at::randn(sizes).to(dtype);
}

/// Sums `outputs` against fixed random weights, so that a backward has something to start from.
inline at::Tensor weighted_total(const std::vector<at::Tensor>& outputs) {
  at::manual_seed(99);
  at::Tensor total;
  for (const at::Tensor& y : outputs) {
    const at::Tensor part = (y * randn(y.sizes()).to(y.scalar_type())).sum();
    total = total.defined() ? total + part : part;
  }
  return total;
}

struct Precision {
  at::ScalarType dtype;
  double tolerance;
};

class OpsTest : public testing::TestWithParam<Precision> {
 protected:
  void SetUp() override { at::manual_seed(7); }
  at::ScalarType dtype() const { return GetParam().dtype; }
  double tolerance() const { return GetParam().tolerance; }

  /// Runs `f` on the kernels and, on the same values, in float64; compares outputs and the gradients of all
  /// inputs. Inputs named in `masters` are parameters and stay float32.
  template <typename F>
  void compare(const std::vector<at::Tensor>& inputs, const std::vector<bool>& masters, F f) {
    std::vector<at::Tensor> fast, plain;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const at::Tensor rounded = inputs[i].to(dtype());
      fast.push_back(leaf(masters[i] ? rounded.to(at::kFloat) : rounded));
      plain.push_back(leaf(rounded.to(at::kDouble)));
    }
    const auto fast_outputs = f(fast, dtype()), plain_outputs = f(plain, at::kDouble);
    for (size_t i = 0; i < fast_outputs.size(); ++i) {
      const double size = std::max(1.0, plain_outputs[i].abs().max().template item<double>());
      EXPECT_LT(largest_difference(fast_outputs[i], plain_outputs[i]) / size, tolerance()) << "output " << i;
    }
    weighted_total(fast_outputs).backward();
    weighted_total(plain_outputs).backward();
    for (size_t i = 0; i < inputs.size(); ++i) {
      ASSERT_TRUE(fast[i].grad().defined()) << "input " << i;
      const double size = std::max(1.0, plain[i].grad().abs().max().item<double>());
      EXPECT_LT(largest_difference(fast[i].grad(), plain[i].grad()) / size, 4 * tolerance())
          << "gradient " << i;
    }
  }
};

/// Router and experts on the leaves in[1] and in[2 + 2e], in[3 + 2e]; they outlive the graph.
inline at::Tensor moe_on(const std::vector<at::Tensor>& in, at::ScalarType compute, bool normalised) {
  auto* router = new Linear(in[1], at::Tensor(), compute);
  auto* experts = new std::vector<Expert>;
  for (size_t i = 2; i + 1 < in.size(); i += 2) {
    experts->push_back({Linear(in[i], {}, compute), Linear(in[i + 1], {}, compute)});
  }
  return moe(in[0], *router, *experts, {.num_experts_per_tok = 2, .norm_topk_prob = normalised});
}

inline std::vector<at::Tensor> moe_inputs(int64_t rows) {
  // Router logits lie far apart, so that rounding changes no choice.
  at::Tensor x = randn({rows, 16});
  x.narrow(1, 0, 5).mul_(4).round_();
  at::Tensor router = at::zeros({5, 16});
  router.narrow(1, 0, 5).copy_(at::eye(5) * 0.3 + at::arange(5).unsqueeze(1) * 0.01);
  std::vector<at::Tensor> inputs{x, router};
  for (int e = 0; e < 5; ++e) inputs.insert(inputs.end(), {randn({24, 16}) * 0.3, randn({16, 12}) * 0.3});
  return inputs;
}

}  // namespace cohort
