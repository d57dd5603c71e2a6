// The CPU's products against float64 and against their own definition: one chain in the order of the inputs.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "cohort/ops/dispatch.h"
#include "cohort/ops/panel_product_kernel.h"

namespace cohort {
namespace {

struct Case {
  int64_t rows, out, in;
  bool has_bias;
};

// Partial tiles and panels, more rows than a block holds, one input, one output, no row, rows in pieces.
constexpr Case kCases[] = {{0, 5, 3, true},     {1, 1, 1, false},       {1, 64, 48, true},
                           {5, 33, 7, true},    {11, 96, 100, false},   {130, 40, 4000, true},
                           {25, 31, 64, true},  {300, 130, 576, false}, {900, 70, 300, false},
                           {3, 70, 9000, true}, {230, 1200, 8213, true}};

at::Tensor product(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  const int64_t out = weight.size(0), in = weight.size(1);
  const at::Tensor panels = at::empty({COHORT_CALL_KERNEL(panel_elements(out, in))}, weight.options());
  at::Tensor y = at::empty({x.size(0), out}, x.options());
  const float* bias_data = bias.defined() ? bias.const_data_ptr<float>() : nullptr;
  dispatch_float(x, [&]<typename T>() {
    COHORT_CALL_KERNEL(pack_panels(weight.const_data_ptr<T>(), panels.mutable_data_ptr<T>(), out, in));
    COHORT_CALL_KERNEL(panel_product(x.const_data_ptr<T>(), panels.const_data_ptr<T>(), bias_data,
                                     y.mutable_data_ptr<T>(), x.size(0), out, in));
  });
  return y;
}

TEST(PanelProduct, IsTheProductToTheRoundingOfItsTypes) {
  at::manual_seed(1);
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    for (const Case& c : kCases) {
      const at::Tensor x = at::randn({c.rows, c.in}).to(dtype);
      const at::Tensor weight = at::randn({c.out, c.in}).to(dtype);
      const at::Tensor bias = c.has_bias ? at::randn({c.out}) : at::Tensor();
      const auto wide_bias = c.has_bias ? std::optional(bias.to(at::kDouble)) : std::nullopt;
      const at::Tensor expected = at::linear(x.to(at::kDouble), weight.to(at::kDouble), wide_bias);
      const at::Tensor error = (product(x, weight, bias).to(at::kDouble) - expected).abs();
      // Half a unit of the result's last place, and the sum's own error: each addition's is at most half a
      // unit of what the terms' sizes add up to, and they add up as the root of their number.
      const double half_unit = dtype == at::kBFloat16 ? std::ldexp(1.0, -8) : std::ldexp(1.0, -24);
      const at::Tensor sizes = at::linear(x.abs().to(at::kDouble), weight.abs().to(at::kDouble)) + 1.0;
      const double of_sum = 4 * std::ldexp(1.0, -24) * std::sqrt(static_cast<double>(c.in));
      EXPECT_TRUE((error <= expected.abs() * half_unit * 1.01 + sizes * of_sum).all().item<bool>())
          << c.rows << " x " << c.out << " x " << c.in << " " << dtype;
    }
  }
}

TEST(PanelProduct, ARowHasTheSameBitsInAnyCompanyAndOnAnyThreads) {
  const int threads = at::get_num_threads();
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    for (const Case& c : kCases) {
      const at::Tensor x = at::randn({c.rows, c.in}).to(dtype);
      const at::Tensor weight = at::randn({c.out, c.in}).to(dtype);
      at::set_num_threads(1);
      const at::Tensor all = product(x, weight, {});
      for (const int count : {1, 2, 3, 5, 8}) {
        at::set_num_threads(count);
        ASSERT_TRUE(at::equal(product(x, weight, {}), all)) << c.rows << " on " << count;
        for (int64_t row = 0; row < c.rows; row += 37) {
          const at::Tensor alone = product(x.narrow(0, row, 1).contiguous(), weight, {});
          ASSERT_TRUE(at::equal(alone[0], all[row])) << row;
        }
      }
    }
  }
  at::set_num_threads(threads);
}

TEST(PanelProduct, OfNoRowsIsNothing) {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    for (const int64_t in : {5, 9000})
      EXPECT_EQ(product(at::empty({0, in}, dtype), at::ones({3, in}).to(dtype), {}).numel(), 0);
  }
}

TEST(PanelProduct, SumsInTheOrderOfTheInputs) {
  // 1e8 swallows the ones before it is taken away again, and leaves those behind it.
  const at::Tensor weight = at::ones({3, 5});
  const at::Tensor x = at::tensor({1.0F, 1e8F, -1e8F, 1.0F, 1.0F}).reshape({1, 5});
  EXPECT_TRUE(at::equal(product(x, weight, {}), at::full({1, 3}, 2.0F)));
}

/// total + grad^T x as the backward of a product makes it.
at::Tensor with_weight_gradient(const at::Tensor& total, const at::Tensor& grad, const at::Tensor& x) {
  const int64_t rows = grad.size(0), out = grad.size(1), in = x.size(1);
  const at::Tensor panels = at::empty({COHORT_CALL_KERNEL(panel_elements(in, rows))}, x.options());
  at::Tensor sum = total.clone();
  dispatch_float(x, [&]<typename T>() {
    COHORT_CALL_KERNEL(
        pack_panels_of_transpose(x.const_data_ptr<T>(), panels.mutable_data_ptr<T>(), in, rows));
    COHORT_CALL_KERNEL(add_product_of_transpose(grad.const_data_ptr<T>(), panels.const_data_ptr<T>(),
                                                sum.mutable_data_ptr<float>(), out, in, rows));
  });
  return sum;
}

TEST(PanelProduct, APanelOfTheTransposeIsThePanelOfTheMatrix) {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    for (const Case& c : kCases) {
      const at::Tensor matrix = at::randn({c.in, c.out}).to(dtype), transpose = matrix.t().contiguous();
      const int64_t size = COHORT_CALL_KERNEL(panel_elements(c.out, c.in));
      const at::Tensor one = at::zeros({size}, matrix.options()), other = one.clone();
      dispatch_float(matrix, [&]<typename T>() {
        COHORT_CALL_KERNEL(
            pack_panels(transpose.const_data_ptr<T>(), one.mutable_data_ptr<T>(), c.out, c.in));
        COHORT_CALL_KERNEL(
            pack_panels_of_transpose(matrix.const_data_ptr<T>(), other.mutable_data_ptr<T>(), c.out, c.in));
      });
      EXPECT_TRUE(at::equal(one, other)) << c.out << " x " << c.in << " " << dtype;
    }
  }
}

TEST(PanelProduct, TheWeightsGradientIsAddedOnAnyThreadsAlike) {
  const int threads = at::get_num_threads();
  at::manual_seed(2);
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    for (const Case& c : kCases) {
      const at::Tensor grad = at::randn({c.in, c.rows}).to(dtype), x = at::randn({c.in, c.out}).to(dtype);
      const at::Tensor total = at::randn({c.rows, c.out});
      at::set_num_threads(1);
      const at::Tensor sum = with_weight_gradient(total, grad, x);
      const at::Tensor expected = total.to(at::kDouble) + at::mm(grad.t().to(at::kDouble), x.to(at::kDouble));
      const double of_sum = c.in > 4000 ? 8e-4 : 2e-4;
      EXPECT_TRUE(at::allclose(sum.to(at::kDouble), expected, 1e-5, of_sum))
          << c.rows << " " << c.out << " " << c.in << " " << dtype;
      for (const int count : {2, 3, 5, 8}) {
        at::set_num_threads(count);
        ASSERT_TRUE(at::equal(with_weight_gradient(total, grad, x), sum)) << c.rows << " on " << count;
      }
    }
  }
  at::set_num_threads(threads);
}

#if !defined(COHORT_ONE_ARCH)
/// x W^T and grad^T x by the kernels of one instruction set.
#define COHORT_PRODUCTS_OF(arch)                                                                             \
  [](const at::Tensor& x, const at::Tensor& weight, const at::Tensor& grad) {                                \
    const int64_t rows = x.size(0), out = weight.size(0), in = x.size(1);                                    \
    const at::Tensor panels = at::empty({arch::panel_elements(out, in)}, x.options());                       \
    const at::Tensor transposed = at::empty({arch::panel_elements(in, rows)}, x.options());                  \
    const at::Tensor y = at::empty({rows, out}, x.options()), total = at::zeros({out, in});                  \
    dispatch_float(x, [&]<typename T>() {                                                                    \
      arch::pack_panels(weight.const_data_ptr<T>(), panels.mutable_data_ptr<T>(), out, in);                  \
      arch::panel_product(x.const_data_ptr<T>(), panels.const_data_ptr<T>(), nullptr,                        \
                          y.mutable_data_ptr<T>(), rows, out, in);                                           \
      arch::pack_panels_of_transpose(x.const_data_ptr<T>(), transposed.mutable_data_ptr<T>(), in, rows);     \
      arch::add_product_of_transpose(grad.const_data_ptr<T>(), transposed.const_data_ptr<T>(),               \
                                     total.mutable_data_ptr<float>(), out, in, rows);                        \
    });                                                                                                      \
    if (x.scalar_type() == at::kBFloat16) {                                                                  \
      const at::Tensor wide = x.to(at::kFloat), rounded = at::empty_like(transposed);                        \
      arch::pack_panels_of_transpose(wide.const_data_ptr<float>(), rounded.mutable_data_ptr<at::BFloat16>(), \
                                     in, rows);                                                              \
      EXPECT_TRUE(at::equal(rounded, transposed));                                                           \
    }                                                                                                        \
    return std::pair(y, total);                                                                              \
  }

TEST(PanelProduct, IsAProductOnEveryInstructionSetThatTheMachineHas) {
  using Products =
      std::pair<at::Tensor, at::Tensor> (*)(const at::Tensor&, const at::Tensor&, const at::Tensor&);
  constexpr Products kOfArch[] = {COHORT_PRODUCTS_OF(base), COHORT_PRODUCTS_OF(avx2),
                                  COHORT_PRODUCTS_OF(avx512), COHORT_PRODUCTS_OF(avx512bf16),
                                  COHORT_PRODUCTS_OF(amx)};
  const at::Tensor x = at::randn({77, 101}), weight = at::randn({70, 101}), grad = at::randn({77, 70});
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    const at::Tensor x_in = x.to(dtype), weight_in = weight.to(dtype), grad_in = grad.to(dtype);
    const auto wide = [](const at::Tensor& t) { return t.to(at::kDouble); };
    const double relative = dtype == at::kBFloat16 ? 4e-3 : 1e-6;
    for (int arch = 0; arch < std::ssize(kOfArch); ++arch) {
      if (!runs_on_this_machine(static_cast<CpuArch>(arch))) continue;
      const auto [y, total] = kOfArch[arch](x_in, weight_in, grad_in);
      EXPECT_TRUE(at::allclose(wide(y), at::mm(wide(x_in), wide(weight_in).t()), relative, 1e-4))
          << arch << " " << dtype;
      EXPECT_TRUE(at::allclose(wide(total), at::mm(wide(grad_in).t(), wide(x_in)), 1e-5, 1e-4))
          << arch << " " << dtype;
    }
  }
}
#endif

}  // namespace
}  // namespace cohort
