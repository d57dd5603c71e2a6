#include "cohort/ops/rms_norm.h"

#include <torch/csrc/autograd/custom_function.h>

#include "cohort/ops/dispatch.h"
#include "cohort/ops/gradient.h"
#include "cohort/ops/row_kernels.h"
#include "cohort/tensor/check.h"

namespace cohort {
namespace {

at::Tensor forward_rows(const at::Tensor& x, const RmsNorm& norm) {
  const at::Tensor rows = x.contiguous(), scale = norm.scale(x.scalar_type());
  at::Tensor y = at::empty_like(rows);
  dispatch_float(x, [&]<typename T>() {
    COHORT_CALL_KERNEL(rms_norm<T>(rows.const_data_ptr<T>(), scale.const_data_ptr<float>(),
                                   y.mutable_data_ptr<T>(), x.size(0), x.size(1),
                                   static_cast<float>(norm.epsilon)));
  });
  return y;
}

/// Adds to the gradient of the weight.
InputGradient backward_rows(const at::Tensor& x, const at::Tensor& grad, const RmsNorm& norm) {
  const at::Tensor from = x.contiguous(), grad_y = grad.contiguous(), scale = norm.scale(x.scalar_type());
  InputGradient made{at::empty_like(from), at::empty_like(from)};
  at::Tensor grad_scale = at::zeros({x.size(1)}, at::kFloat);
  dispatch_float(x, [&]<typename T>() {
    COHORT_CALL_KERNEL(rms_norm_backward<T>(
        from.const_data_ptr<T>(), scale.const_data_ptr<float>(), grad_y.const_data_ptr<T>(),
        made.source.mutable_data_ptr<T>(), made.rows.mutable_data_ptr<T>(),
        grad_scale.mutable_data_ptr<float>(), x.size(0), x.size(1), static_cast<float>(norm.epsilon)));
  });
  accumulate_grad(norm.weight, grad_scale);
  return made;
}

class RmsNormFunction : public torch::autograd::Function<RmsNormFunction> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x,
                            const at::Tensor& weight, double epsilon, double offset) {
    context->save_for_backward({x, weight});
    context->saved_data["epsilon"] = epsilon;
    context->saved_data["offset"] = offset;
    return forward_rows(x, {weight, epsilon, offset});
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list grads) {
    const auto saved = context->get_saved_variables();
    const RmsNorm norm{saved[1], context->saved_data["epsilon"].toDouble(),
                       context->saved_data["offset"].toDouble()};
    return {backward_rows(saved[0], grads[0], norm).source, {}, {}, {}};
  }
};

}  // namespace

at::Tensor RmsNorm::scale(at::ScalarType compute) const {
  at::Tensor scale = round_to(weight, compute).contiguous();
  if (scale.scalar_type() == at::kBFloat16) scale = scale.to(at::kFloat);  // a frozen one
  return offset == 0.0 ? scale : scale + offset;
}

at::Tensor rms_norm(const at::Tensor& x, const RmsNorm& norm) {
  check_shape(x, {-1, -1}, "rms_norm: x");
  check_shape(norm.weight, {x.size(1)}, "rms_norm: weight");
  if (!has_cpu_kernel(x)) {
    const at::Tensor wide = x.scalar_type() == at::kBFloat16 ? x.to(at::kFloat) : x;
    const at::Tensor inverse = (wide.square().mean(-1, true) + norm.epsilon).rsqrt();
    return (wide * inverse * norm.scale(x.scalar_type())).to(x.scalar_type());
  }
  if (!at::GradMode::is_enabled()) return forward_rows(x, norm);
  return RmsNormFunction::apply(x, norm.weight, norm.epsilon, norm.offset);
}

InputOp normed_input(const RmsNorm& norm) {
  return {[=](const at::Tensor& x) { return rms_norm(x, norm); },
          [=](const at::Tensor& x, const at::Tensor& grad) { return backward_rows(x, grad, norm); }};
}

}  // namespace cohort
