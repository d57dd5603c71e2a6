#include "cohort/ops/rms_norm.h"

#include <torch/csrc/autograd/custom_function.h>

#include "cohort/ops/dispatch.h"
#include "cohort/ops/linear.h"
#include "cohort/ops/row_kernels.h"
#include "cohort/tensor/check.h"

namespace cohort {
namespace {

at::Tensor forward_rows(const at::Tensor& x, const at::Tensor& weight, double epsilon) {
  const at::Tensor rows = x.contiguous();
  const at::Tensor scale = round_to(weight.detach(), x.scalar_type()).contiguous();
  at::Tensor y = at::empty_like(rows);
  dispatch_float(x, [&]<typename T>() {
    COHORT_CALL_KERNEL(rms_norm<T>(rows.const_data_ptr<T>(), scale.const_data_ptr<float>(),
                                   y.mutable_data_ptr<T>(), x.size(0), x.size(1),
                                   static_cast<float>(epsilon)));
  });
  return y;
}

class RmsNormFunction : public torch::autograd::Function<RmsNormFunction> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x,
                            const at::Tensor& weight, double epsilon) {
    context->save_for_backward({x, weight});
    context->saved_data["epsilon"] = epsilon;
    return forward_rows(x, weight, epsilon);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list grads) {
    const auto saved = context->get_saved_variables();
    const at::Tensor x = saved[0].contiguous(), grad = grads[0].contiguous();
    const at::Tensor scale = round_to(saved[1].detach(), x.scalar_type()).contiguous();
    const double epsilon = context->saved_data["epsilon"].toDouble();
    at::Tensor grad_x = at::empty_like(x);
    at::Tensor grad_scale = at::zeros({x.size(1)}, at::kFloat);
    dispatch_float(x, [&]<typename T>() {
      COHORT_CALL_KERNEL(rms_norm_backward<T>(x.const_data_ptr<T>(), scale.const_data_ptr<float>(),
                                              grad.const_data_ptr<T>(), grad_x.mutable_data_ptr<T>(),
                                              grad_scale.mutable_data_ptr<float>(), x.size(0), x.size(1),
                                              static_cast<float>(epsilon)));
    });
    accumulate_grad(saved[1], grad_scale);
    return {grad_x, at::Tensor(), at::Tensor()};
  }
};

}  // namespace

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double epsilon) {
  check_shape(x, {-1, -1}, "rms_norm: x");
  check_shape(weight, {x.size(1)}, "rms_norm: weight");
  if (!has_cpu_kernel(x)) {
    const at::Tensor wide = x.scalar_type() == at::kBFloat16 ? x.to(at::kFloat) : x;
    const at::Tensor scale = round_to(weight, x.scalar_type());
    return (wide * (wide.square().mean(-1, true) + epsilon).rsqrt() * scale).to(x.scalar_type());
  }
  if (!at::GradMode::is_enabled()) return forward_rows(x, weight, epsilon);
  return RmsNormFunction::apply(x, weight, epsilon);
}

}  // namespace cohort
