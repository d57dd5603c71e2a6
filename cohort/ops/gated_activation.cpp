#include "cohort/ops/gated_activation.h"

#include <torch/csrc/autograd/custom_function.h>

#include "cohort/ops/dispatch.h"
#include "cohort/ops/row_kernels.h"
#include "cohort/tensor/check.h"

namespace cohort {
namespace {

at::Tensor forward_rows(const at::Tensor& gate_up, Activation activation) {
  const at::Tensor rows = gate_up.contiguous();
  const int64_t width = rows.size(1) / 2;
  at::Tensor y = at::empty({rows.size(0), width}, rows.options());
  dispatch_float(rows, [&]<typename T>() {
    COHORT_CALL_KERNEL(gated_activation<T>(activation, rows.const_data_ptr<T>(), y.mutable_data_ptr<T>(),
                                           rows.size(0), width));
  });
  return y;
}

InputGradient backward_rows(const at::Tensor& gate_up, const at::Tensor& grad, Activation activation) {
  const at::Tensor from = gate_up.contiguous(), grad_y = grad.contiguous();
  const int64_t width = from.size(1) / 2;
  InputGradient made{at::empty({from.size(0), width}, from.options()), at::empty_like(from)};
  dispatch_float(from, [&]<typename T>() {
    COHORT_CALL_KERNEL(gated_activation_backward<T>(
        activation, from.const_data_ptr<T>(), grad_y.const_data_ptr<T>(), made.source.mutable_data_ptr<T>(),
        made.rows.mutable_data_ptr<T>(), from.size(0), width));
  });
  return made;
}

class GatedActivationFunction : public torch::autograd::Function<GatedActivationFunction> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& gate_up,
                            Activation activation) {
    context->save_for_backward({gate_up});
    context->saved_data["activation"] = static_cast<int64_t>(activation);
    return forward_rows(gate_up, activation);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list grads) {
    const auto activation = static_cast<Activation>(context->saved_data["activation"].toInt());
    return {backward_rows(context->get_saved_variables()[0], grads[0], activation).source, {}};
  }
};

}  // namespace

at::Tensor gated_activation(const at::Tensor& gate_up, Activation activation) {
  check_shape(gate_up, {-1, -1}, "gated_activation: gate_up");
  if (!has_cpu_kernel(gate_up)) {
    const auto halves = gate_up.chunk(2, -1);
    return (activation == Activation::kSilu ? at::silu(halves[0]) : at::gelu(halves[0], "tanh")) * halves[1];
  }
  if (!at::GradMode::is_enabled()) return forward_rows(gate_up, activation);
  return GatedActivationFunction::apply(gate_up, activation);
}

InputOp gated_input(Activation activation) {
  return {[=](const at::Tensor& gate_up) { return gated_activation(gate_up, activation); },
          [=](const at::Tensor& gate_up, const at::Tensor& grad) {
            return backward_rows(gate_up, grad, activation);
          }};
}

}  // namespace cohort
