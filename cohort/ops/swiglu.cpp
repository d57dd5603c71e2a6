#include "cohort/ops/swiglu.h"

#include <torch/csrc/autograd/custom_function.h>

#include "cohort/ops/dispatch.h"
#include "cohort/ops/row_kernels.h"
#include "cohort/tensor/check.h"

namespace cohort {
namespace {

at::Tensor forward_rows(const at::Tensor& gate_up) {
  const at::Tensor rows = gate_up.contiguous();
  const int64_t width = rows.size(1) / 2;
  at::Tensor y = at::empty({rows.size(0), width}, rows.options());
  dispatch_float(rows, [&]<typename T>() {
    COHORT_CALL_KERNEL(swiglu<T>(rows.const_data_ptr<T>(), y.mutable_data_ptr<T>(), rows.size(0), width));
  });
  return y;
}

class SwigluFunction : public torch::autograd::Function<SwigluFunction> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& gate_up) {
    context->save_for_backward({gate_up});
    return forward_rows(gate_up);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list grads) {
    const at::Tensor gate_up = context->get_saved_variables()[0].contiguous(), grad = grads[0].contiguous();
    at::Tensor grad_gate_up = at::empty_like(gate_up);
    dispatch_float(gate_up, [&]<typename T>() {
      COHORT_CALL_KERNEL(swiglu_backward<T>(gate_up.const_data_ptr<T>(), grad.const_data_ptr<T>(),
                                            grad_gate_up.mutable_data_ptr<T>(), gate_up.size(0),
                                            gate_up.size(1) / 2));
    });
    return {grad_gate_up};
  }
};

}  // namespace

at::Tensor swiglu(const at::Tensor& gate_up) {
  check_shape(gate_up, {-1, -1}, "swiglu: gate_up");
  if (!has_cpu_kernel(gate_up)) {
    const auto halves = gate_up.chunk(2, -1);
    return halves[0] * halves[0].sigmoid() * halves[1];
  }
  if (!at::GradMode::is_enabled()) return forward_rows(gate_up);
  return SwigluFunction::apply(gate_up);
}

}  // namespace cohort
