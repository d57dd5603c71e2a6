// Adapters on a frozen Linear against the formulas in float64, and the same bits for a row in any company.
#include "cohort/ops/lora.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "tests/ops/tensors.h"

namespace cohort {
namespace {

constexpr int64_t kIn = 40, kOut = 30;

/// Adapters on the rows [4, 14) and [14, 30) of a Linear.
struct Adapted {
  explicit Adapted(at::ScalarType compute, bool use_dora, int64_t rank = 6) {
    at::manual_seed(5);
    weight = at::randn({kOut, kIn}) * 0.3;
    bias = at::randn({kOut});
    int64_t row = 4;
    for (const int64_t rows : {10, 16}) {
      LoraPart part{.row = row, .rows = rows, .scale = 0.7, .id = static_cast<uint64_t>(row)};
      part.a = leaf(at::randn({rank, kIn}) * 0.2);
      part.b = leaf(at::randn({rows, rank}) * 0.2);
      if (use_dora) part.magnitude = leaf(at::rand({rows}) + 1.0);
      parts.push_back(part);
      row += rows;
    }
    linear = Linear(weight.to(compute), bias.to(compute), compute);
    linear.adapt(std::make_shared<Lora>(parts));
  }

  /// The papers' formulas, in float64, on leaves of their own.
  at::Tensor expected(const at::Tensor& x, std::vector<at::Tensor>& leaves, at::ScalarType compute) const {
    const auto wide = [&](const at::Tensor& t) { return t.detach().to(compute).to(at::kDouble); };
    at::Tensor all = wide(weight);
    std::vector<at::Tensor> rows{all.narrow(0, 0, 4)};
    for (const LoraPart& part : parts) {
      leaves.push_back(leaf(part.a.to(at::kDouble)));
      leaves.push_back(leaf(part.b.to(at::kDouble)));
      at::Tensor w =
          all.narrow(0, part.row, part.rows) + at::matmul(leaves.end()[-1], leaves.end()[-2]) * part.scale;
      if (part.magnitude.defined()) {
        const at::Tensor length = at::linalg_vector_norm(w.detach(), 2, 1);
        leaves.push_back(leaf(part.magnitude.to(at::kDouble)));
        w = w * (leaves.back() / length).unsqueeze(1);
      }
      rows.push_back(w);
    }
    return at::matmul(x, at::cat(rows).t()) + wide(bias);
  }

  std::vector<at::Tensor> leaves() const {
    std::vector<at::Tensor> result;
    for (const LoraPart& part : parts) {
      result.push_back(part.a);
      result.push_back(part.b);
      if (part.magnitude.defined()) result.push_back(part.magnitude);
    }
    return result;
  }

  at::Tensor weight, bias;
  std::vector<LoraPart> parts;
  Linear linear;
};

class LoraTest : public testing::TestWithParam<std::tuple<at::ScalarType, bool>> {};

TEST_P(LoraTest, IsTheFormulaWithItsGradients) {
  const auto [compute, use_dora] = GetParam();
  const Adapted adapted(compute, use_dora);
  const at::Tensor x = leaf(at::randn({23, kIn}).to(compute));
  const at::Tensor exact_x = leaf(x.to(at::kDouble));
  std::vector<at::Tensor> exact_leaves;
  const at::Tensor expected = adapted.expected(exact_x, exact_leaves, compute);
  const at::Tensor y = adapted.linear.forward(x);
  const double tolerance = compute == at::kBFloat16 ? 5e-2 : 1e-5;
  EXPECT_LT(largest_difference(y, expected), tolerance);
  const at::Tensor weights = at::randn(y.sizes()).to(compute);
  (y * weights).sum().backward();
  (expected * weights).sum().backward();
  EXPECT_LT(largest_difference(x.grad(), exact_x.grad()), 4 * tolerance);
  const auto leaves = adapted.leaves();
  for (size_t i = 0; i < leaves.size(); ++i) {
    const double size = exact_leaves[i].grad().abs().max().item<double>();
    EXPECT_LT(largest_difference(leaves[i].grad(), exact_leaves[i].grad()) / size, 2 * tolerance)
        << "leaf " << i;
  }
  EXPECT_FALSE(adapted.linear.weight().grad().defined());
}

TEST_P(LoraTest, IsTheBaseWhileItIsOff) {
  const auto [compute, use_dora] = GetParam();
  const at::NoGradGuard no_grad;
  const Adapted adapted(compute, use_dora);
  const Linear base(adapted.weight.to(compute), adapted.bias.to(compute), compute);
  const at::Tensor x = at::randn({5, kIn}).to(compute);
  EXPECT_FALSE(at::equal(adapted.linear.forward(x), base.forward(x)));
  EXPECT_TRUE(at::equal(adapted.linear.forward(x, {.enabled = false}), base.forward(x)));
}

TEST_P(LoraTest, GivesARowTheSameBitsInAnyCompanyAndOnAnyThreads) {
  const auto [compute, use_dora] = GetParam();
  const at::NoGradGuard no_grad;
  const int threads = at::get_num_threads();
  for (const int64_t rank : {1, 2, 3, 8, 16}) {
    const at::Tensor x = at::randn({130, kIn}).to(compute);
    at::set_num_threads(1);
    const at::Tensor all = Adapted(compute, use_dora, rank).linear.forward(x);
    for (const int count : {1, 2, 3, 5, 8}) {
      at::set_num_threads(count);
      const Adapted adapted(compute, use_dora, rank);
      for (const int64_t rows : {1, 2, 3, 7, 17, 64, 100}) {
        const at::Tensor part = adapted.linear.forward(x.narrow(0, 29, rows).clone());
        // float64 goes through ATen, whose product of one row may be rounded otherwise.
        const at::Tensor expected = all.narrow(0, 29, rows);
        const bool is_same =
            compute == at::kDouble ? at::allclose(part, expected, 1e-12, 1e-12) : at::equal(part, expected);
        ASSERT_TRUE(is_same) << rank << ", " << rows << " rows, " << count;
      }
    }
  }
  at::set_num_threads(threads);
}

INSTANTIATE_TEST_SUITE_P(Kinds, LoraTest,
                         testing::Combine(testing::Values(at::kFloat, at::kBFloat16, at::kDouble),
                                          testing::Bool()));

/// A use whose rows have these addresses.
AdapterUse dropout_at(std::vector<uint64_t> rows, double probability, uint64_t step = 0) {
  return {.dropout = std::make_shared<const AdapterDropout>(
              AdapterDropout{.probability = probability, .seed = 9, .step = step, .rows = std::move(rows)})};
}

TEST(LoraDropout, DependsOnTheRowsAddressAlone) {
  const Adapted adapted(at::kFloat, false);
  const at::NoGradGuard no_grad;
  const at::Tensor x = at::ones({8, kIn});
  const at::Tensor dropped = adapted.linear.forward(x, dropout_at({10, 11, 12, 13, 14, 15, 16, 17}, 0.25));
  EXPECT_FALSE(at::equal(dropped, adapted.linear.forward(x)));
  const at::Tensor two = x.narrow(0, 0, 2);
  const at::Tensor swapped = adapted.linear.forward(two, dropout_at({13, 12}, 0.25));
  EXPECT_TRUE(at::equal(swapped[0], dropped[3]) && at::equal(swapped[1], dropped[2]));
  EXPECT_FALSE(at::equal(adapted.linear.forward(two, dropout_at({13, 12}, 0.25, 1)), swapped));
}

TEST(LoraDropout, KeepsTheExpectedValueAndItsGradient) {
  const Adapted adapted(at::kFloat, false);
  const at::Tensor x = leaf(at::randn({1, kIn}));
  const at::Tensor plain = adapted.linear.forward(x).detach();
  at::Tensor total = at::zeros_like(plain);
  constexpr int kDraws = 4000;
  for (int i = 0; i < kDraws; ++i)
    total += adapted.linear.forward(x, dropout_at({static_cast<uint64_t>(i)}, 0.5)).detach();
  EXPECT_LT(largest_difference(total / kDraws, plain), 0.1);
  // The product is linear in x: its gradient is that of the adapter after dropout.
  const AdapterUse use = dropout_at({3}, 0.5);
  const at::Tensor y = adapted.linear.forward(x, use), weights = at::randn(y.sizes());
  (y * weights).sum().backward();
  const at::Tensor step = at::randn(x.sizes());
  const at::Tensor moved = adapted.linear.forward(x.detach() + step, use).detach() - y.detach();
  EXPECT_NEAR((moved * weights).sum().item<double>(), (x.grad() * step).sum().item<double>(), 1e-3);
}

}  // namespace
}  // namespace cohort
