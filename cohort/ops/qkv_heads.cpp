#include "cohort/ops/qkv_heads.h"

#include <torch/csrc/autograd/custom_function.h>

#include "cohort/ops/dispatch.h"
#include "cohort/ops/gradient.h"
#include "cohort/ops/qkv_heads_kernel.h"
#include "cohort/tensor/check.h"

namespace cohort {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Inputs of an autograd function must be defined: there, no norm is one with an empty weight.
bool has_weight(const RmsNorm& norm) { return norm.defined() && norm.weight.numel() > 0; }

at::Tensor scale_of(const RmsNorm& norm, at::ScalarType compute) {
  return has_weight(norm) ? norm.scale(compute).detach() : at::Tensor();
}

QkvKernelArguments kernel_arguments(const QkvShape& shape, const at::Tensor& q_norm, const at::Tensor& k_norm,
                                    double epsilon, const RopeTable& rope, const at::Tensor& positions) {
  return {.num_heads = shape.num_heads,
          .num_kv_heads = shape.num_kv_heads,
          .head_dim = shape.head_dim,
          .q_norm = q_norm.defined() ? q_norm.const_data_ptr<float>() : nullptr,
          .k_norm = k_norm.defined() ? k_norm.const_data_ptr<float>() : nullptr,
          .epsilon = static_cast<float>(epsilon),
          .cos = rope.cos.const_data_ptr<float>(),
          .sin = rope.sin.const_data_ptr<float>(),
          .positions = positions.const_data_ptr<int64_t>(),
          .rows = positions.size(0)};
}

QkvHeads forward_rows(const at::Tensor& qkv, const QkvShape& shape, const RmsNorm& q_norm,
                      const RmsNorm& k_norm, const RopeTable& rope, const at::Tensor& positions) {
  const at::Tensor in = qkv.contiguous();
  const at::Tensor q_scale = scale_of(q_norm, qkv.scalar_type()),
                   k_scale = scale_of(k_norm, qkv.scalar_type());
  QkvHeads heads{at::empty({in.size(0), shape.num_heads, shape.head_dim}, in.options()),
                 at::empty({in.size(0), shape.num_kv_heads, shape.head_dim}, in.options()),
                 at::empty({in.size(0), shape.num_kv_heads, shape.head_dim}, in.options())};
  const auto arguments = kernel_arguments(shape, q_scale, k_scale, q_norm.epsilon, rope, positions);
  dispatch_float(in, [&]<typename T>() {
    COHORT_CALL_KERNEL(qkv_heads_kernel<T>(arguments, in.const_data_ptr<T>(), heads.q.mutable_data_ptr<T>(),
                                           heads.k.mutable_data_ptr<T>(), heads.v.mutable_data_ptr<T>()));
  });
  return heads;
}

class QkvHeadsFunction : public torch::autograd::Function<QkvHeadsFunction> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& qkv, const at::Tensor& q_norm,
                               const at::Tensor& k_norm, const at::Tensor& cos, const at::Tensor& sin,
                               const at::Tensor& positions, QkvShape shape, double epsilon,
                               double norm_offset) {
    // A rotation alone is linear: its backward needs no input.
    const bool has_norm = q_norm.numel() > 0 || k_norm.numel() > 0;
    context->save_for_backward({has_norm ? qkv : at::Tensor(), q_norm, k_norm, cos, sin, positions});
    context->saved_data["shape"] = std::vector<int64_t>{shape.num_heads, shape.num_kv_heads, shape.head_dim};
    context->saved_data["epsilon"] = epsilon;
    context->saved_data["norm_offset"] = norm_offset;
    const RmsNorm q{q_norm, epsilon, norm_offset}, k{k_norm, epsilon, norm_offset};
    const QkvHeads heads = forward_rows(qkv, shape, q, k, {cos, sin}, positions);
    return {heads.q, heads.k, heads.v};
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const auto saved = context->get_saved_variables();
    const auto sizes = context->saved_data["shape"].toIntVector();
    const QkvShape shape{sizes[0], sizes[1], sizes[2]};
    const at::ScalarType compute = grads[0].scalar_type();
    const double epsilon = context->saved_data["epsilon"].toDouble(),
                 offset = context->saved_data["norm_offset"].toDouble();
    const at::Tensor q_scale = scale_of({saved[1], epsilon, offset}, compute),
                     k_scale = scale_of({saved[2], epsilon, offset}, compute);
    const auto arguments = kernel_arguments(shape, q_scale, k_scale, epsilon, {saved[3], saved[4]}, saved[5]);
    const int64_t width = (shape.num_heads + 2 * shape.num_kv_heads) * shape.head_dim;
    at::Tensor grad_qkv = at::empty({grads[0].size(0), width}, grads[0].options());
    const at::Tensor qkv = saved[0].defined() ? saved[0].contiguous() : grad_qkv;  // unread without a norm
    at::Tensor grad_norms = at::zeros({2, shape.head_dim}, at::kFloat);
    for (at::Tensor& grad : grads) grad = grad.contiguous();
    dispatch_float(qkv, [&]<typename T>() {
      COHORT_CALL_KERNEL(
          qkv_heads_backward_kernel<T>(arguments, qkv.const_data_ptr<T>(), grads[0].const_data_ptr<T>(),
                                       grads[1].const_data_ptr<T>(), grads[2].const_data_ptr<T>(),
                                       grad_qkv.mutable_data_ptr<T>(), grad_norms.mutable_data_ptr<float>()));
    });
    if (q_scale.defined()) accumulate_grad(saved[1], grad_norms[0]);
    if (k_scale.defined()) accumulate_grad(saved[2], grad_norms[1]);
    return {grad_qkv, {}, {}, {}, {}, {}, {}, {}, {}};
  }
};

at::Tensor rotate(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin) {
  const auto halves = x.chunk(2, -1);
  return at::cat({halves[0] * cos - halves[1] * sin, halves[1] * cos + halves[0] * sin}, -1);
}

QkvHeads aten_qkv_heads(const at::Tensor& qkv, const QkvShape& shape, const RmsNorm& q_norm,
                        const RmsNorm& k_norm, const RopeTable& rope, const at::Tensor& positions) {
  const int64_t rows = qkv.size(0), dim = shape.head_dim;
  const auto parts =
      qkv.split_with_sizes({shape.num_heads * dim, shape.num_kv_heads * dim, shape.num_kv_heads * dim}, -1);
  const auto prepare = [&](const at::Tensor& part, const RmsNorm& norm) {
    at::Tensor heads = part.reshape({-1, dim});
    if (norm.defined()) heads = rms_norm(heads, norm);
    const at::Tensor wide = heads.reshape({rows, -1, dim}).to(rope.cos.scalar_type());
    const at::Tensor cos = rope.cos.index_select(0, positions).unsqueeze(1);
    const at::Tensor sin = rope.sin.index_select(0, positions).unsqueeze(1);
    return rotate(wide, cos, sin).to(qkv.scalar_type());
  };
  return {prepare(parts[0], q_norm), prepare(parts[1], k_norm), parts[2].reshape({rows, -1, dim})};
}

}  // namespace

RopeTable make_rope_table(const at::Tensor& frequencies, int64_t num_positions, double scale) {
  const at::Tensor positions = at::arange(num_positions, at::TensorOptions().dtype(at::kFloat));
  const at::Tensor angles = at::outer(positions, frequencies.to(at::kFloat)).to(at::kDouble);
  return {(angles.cos() * scale).to(at::kFloat), (angles.sin() * scale).to(at::kFloat)};
}

QkvHeads qkv_heads(const at::Tensor& qkv, const QkvShape& shape, const RmsNorm& q_norm, const RmsNorm& k_norm,
                   const RopeTable& rope, const at::Tensor& positions) {
  check_shape(qkv, {positions.size(0), (shape.num_heads + 2 * shape.num_kv_heads) * shape.head_dim},
              "qkv_heads: qkv");
  if (!has_cpu_kernel(qkv)) return aten_qkv_heads(qkv, shape, q_norm, k_norm, rope, positions);
  if (!at::GradMode::is_enabled()) return forward_rows(qkv, shape, q_norm, k_norm, rope, positions);
  const auto weight = [](const RmsNorm& norm) { return norm.defined() ? norm.weight : at::empty({0}); };
  const auto heads = QkvHeadsFunction::apply(qkv, weight(q_norm), weight(k_norm), rope.cos, rope.sin,
                                             positions, shape, q_norm.epsilon, q_norm.offset);
  return {heads[0], heads[1], heads[2]};
}

}  // namespace cohort
