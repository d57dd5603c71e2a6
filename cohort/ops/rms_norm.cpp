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
    const at::Tensor x = saved[0].contiguous(), grad = grads[0].contiguous();
    const double epsilon = context->saved_data["epsilon"].toDouble();
    const RmsNorm norm{saved[1], epsilon, context->saved_data["offset"].toDouble()};
    const at::Tensor scale = norm.scale(x.scalar_type());
    at::Tensor grad_x = at::empty_like(x);
    at::Tensor grad_scale = at::zeros({x.size(1)}, at::kFloat);
    dispatch_float(x, [&]<typename T>() {
      COHORT_CALL_KERNEL(rms_norm_backward<T>(x.const_data_ptr<T>(), scale.const_data_ptr<float>(),
                                              grad.const_data_ptr<T>(), grad_x.mutable_data_ptr<T>(),
                                              grad_scale.mutable_data_ptr<float>(), x.size(0), x.size(1),
                                              static_cast<float>(epsilon)));
    });
    accumulate_grad(saved[1], grad_scale);
    return {grad_x, {}, {}, {}};
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

}  // namespace cohort
