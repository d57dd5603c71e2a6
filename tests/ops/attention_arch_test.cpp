// Attention by the kernels of every instruction set that the machine has.
#include <gtest/gtest.h>

#include <utility>

#include "cohort/ops/attention.h"
#include "cohort/ops/attention_kernel.h"
#include "cohort/ops/dispatch.h"

namespace cohort {
namespace {

#if !defined(COHORT_ONE_ARCH)
constexpr int64_t kRows = 150, kHeads = 6, kKvHeads = 2;

/// A prompt of 75 rows, a completion of it and a lone sequence.
AttentionPlan plan_of_rows() {
  AttentionPlan plan;
  plan.begin_group();
  plan.add_sequence(0, 75, 0, {{0, 75}});
  plan.add_sequence(75, 66, 75, {{0, 75}, {75, 141}});
  plan.begin_group();
  plan.add_sequence(141, 9, 0, {{141, 150}});
  return plan;
}

AttentionShape shape_of(int64_t head_dim, const AttentionOptions& options) {
  return {.num_heads = kHeads,
          .num_kv_heads = kKvHeads,
          .head_dim = head_dim,
          .scale = static_cast<float>(options.scale),
          .window = options.window,
          .softcap = static_cast<float>(options.softcap),
          .key_row_stride = kKvHeads * head_dim,
          .key_head_stride = head_dim,
          .is_paged = false};
}

struct Inputs {
  at::Tensor q, k, v, grad_out;
};

/// The output, the gradients of q, k and v, and the output of the last sequence from pages.
#define COHORT_ATTENTION_OF(arch)                                                                           \
  [](const AttentionPlan& plan, AttentionShape shape, const Inputs& in) {                                   \
    const at::Tensor out = at::zeros_like(in.q), grad_q = at::zeros_like(in.q),                             \
                     paged = at::zeros_like(in.q);                                                          \
    const at::Tensor grad_k = at::zeros(in.k.sizes()), grad_v = at::zeros(in.v.sizes());                    \
    const at::Tensor lse = at::zeros({kRows, kHeads}), rows = at::arange(9);                                \
    const at::Tensor key_pages = make_pages(1, kKvHeads, shape.head_dim, in.q.options()).fill_(NAN);        \
    const at::Tensor value_pages = key_pages.clone();                                                       \
    AttentionPlan page;                                                                                     \
    page.add_sequence(141, 9, 0, {{0, kKeyBlock}});                                                         \
    dispatch_float(in.q, [&]<typename T>() {                                                                \
      const auto data = [](const at::Tensor& t) { return t.mutable_data_ptr<T>(); };                        \
      arch::attention_kernel<T>(plan, shape, data(in.q), data(in.k), data(in.v), data(out),                 \
                                lse.mutable_data_ptr<float>());                                             \
      arch::attention_backward_kernel<T>(plan, shape, data(in.q), data(in.k), data(in.v), data(out),        \
                                         lse.const_data_ptr<float>(), data(in.grad_out), data(grad_q),      \
                                         grad_k.mutable_data_ptr<float>(),                                  \
                                         grad_v.mutable_data_ptr<float>());                                 \
      for (const auto& [first, count] : {std::pair(0, 1), {1, 5}, {6, 3}}) {                                \
        arch::write_pages<T>(shape, rows.const_data_ptr<int64_t>() + first, count, data(in.k[141 + first]), \
                             data(in.v[141 + first]), data(key_pages), data(value_pages));                  \
      }                                                                                                     \
      shape.is_paged = true;                                                                                \
      arch::attention_kernel<T>(page, shape, data(in.q), data(key_pages), data(value_pages), data(paged),   \
                                lse.mutable_data_ptr<float>());                                             \
    });                                                                                                     \
    return std::vector<at::Tensor>{out, grad_q, grad_k, grad_v, paged};                                     \
  }

TEST(Attention, IsTheFormulaOnEveryInstructionSetThatTheMachineHas) {
  using Attention = std::vector<at::Tensor> (*)(const AttentionPlan&, AttentionShape, const Inputs&);
  constexpr Attention kOfArch[] = {COHORT_ATTENTION_OF(base), COHORT_ATTENTION_OF(avx2),
                                   COHORT_ATTENTION_OF(avx512), COHORT_ATTENTION_OF(avx512bf16),
                                   COHORT_ATTENTION_OF(amx)};
  at::manual_seed(3);
  const AttentionPlan plan = plan_of_rows();
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    for (const int64_t dim : {6, 16, 20, 48, 80, 128}) {
      const AttentionOptions options{.scale = 1.0 / std::sqrt(dim), .window = 70, .softcap = 5.0};
      const Inputs in{at::randn({kRows, kHeads, dim}).to(dtype), at::randn({kRows, kKvHeads, dim}).to(dtype),
                      at::randn({kRows, kKvHeads, dim}).to(dtype), at::randn({kRows, kHeads, dim}).to(dtype)};
      const auto wide = [](const at::Tensor& t) { return t.to(at::kDouble).requires_grad_(true); };
      const at::Tensor q = wide(in.q), k = wide(in.k), v = wide(in.v);
      const at::Tensor out = attend(q, k, v, plan, options);
      out.backward(in.grad_out.to(at::kDouble));
      const std::vector<at::Tensor> expected{out, q.grad(), k.grad(), v.grad()};
      const double tolerance = dtype == at::kFloat ? 2e-5 : 1e-2;
      for (int arch = 0; arch < std::ssize(kOfArch); ++arch) {
        if (!runs_on_this_machine(static_cast<CpuArch>(arch))) continue;
        const std::vector<at::Tensor> found = kOfArch[arch](plan, shape_of(dim, options), in);
        for (size_t i = 0; i < expected.size(); ++i) {
          const double size = expected[i].abs().max().item<double>();
          const at::Tensor difference = (found[i].to(at::kDouble) - expected[i]).abs();
          EXPECT_LT(difference.max().item<double>() / size, tolerance)
              << arch << " " << dtype << " " << dim << " " << i;
        }
        EXPECT_TRUE(at::equal(found[4].narrow(0, 141, 9), found[0].narrow(0, 141, 9)))
            << arch << " " << dtype;
      }
    }
  }
}
#endif

}  // namespace
}  // namespace cohort
