#include "cohort/ops/linear.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/autograd/custom_function.h>

#include "cohort/core/error.h"
#include "cohort/ops/dispatch.h"
#include "cohort/tensor/check.h"

namespace cohort {
namespace {

// The pack hint chooses a layout that serves few and many rows alike.
constexpr int64_t kPackRows = 64;

/// Calls an operator by name; these two have no header.
at::Tensor call(const char* name, std::vector<c10::IValue> arguments) {
  const auto op = c10::Dispatcher::singleton().findSchemaOrThrow(name, "");
  torch::jit::Stack stack(std::make_move_iterator(arguments.begin()),
                          std::make_move_iterator(arguments.end()));
  op.callBoxed(stack);
  return stack.back().toTensor();
}

at::Tensor pack(const at::Tensor& weight) {
  return call("mkldnn::_reorder_linear_weight", {weight.contiguous(), kPackRows});
}

at::Tensor packed_product(const at::Tensor& x, const at::Tensor& packed, const at::Tensor& bias) {
  const c10::IValue optional_bias = bias.defined() ? c10::IValue(bias) : c10::IValue();
  return call(
      "mkldnn::_linear_pointwise",
      {x, packed, optional_bias, "none", c10::List<std::optional<at::Scalar>>(), c10::IValue(std::string())});
}

bool cpu_multiplies_bfloat16() {
  static const bool result = [] {
    try {
      pack(at::zeros({16, 16}, at::kBFloat16));
      return true;
    } catch (const c10::Error&) {
      return false;
    }
  }();
  return result;
}

class LinearFunction : public torch::autograd::Function<LinearFunction> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x,
                            const at::Tensor& weight, const Linear* linear) {
    (void)weight;  // an input, so that the product is differentiated even where x is a constant
    context->save_for_backward({x});
    context->saved_data["linear"] = reinterpret_cast<int64_t>(linear);
    return linear->product(x);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list grads) {
    const auto* linear = reinterpret_cast<const Linear*>(context->saved_data["linear"].toInt());
    const at::Tensor x = context->get_saved_variables()[0];
    return {linear->backward(grads[0], x), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

Linear::Linear(at::Tensor weight, at::Tensor bias, at::ScalarType compute)
    : weight_(std::move(weight)), bias_(std::move(bias)), compute_(compute) {
  repack();
}

void Linear::repack() {
  const at::NoGradGuard no_grad;
  packed_ = at::Tensor();
  if (bias_.defined()) rounded_bias_ = bias_.detach().to(compute_);
  if (!weight_.is_cpu() || compute_ == at::kDouble) return;
  emulate_bfloat16_ = compute_ == at::kBFloat16 && !cpu_multiplies_bfloat16();
  const at::Tensor rounded = weight_.detach().to(compute_);
  packed_ = pack(emulate_bfloat16_ ? rounded.to(at::kFloat) : rounded);
  if (emulate_bfloat16_ && bias_.defined()) rounded_bias_ = rounded_bias_.to(at::kFloat);
}

at::Tensor Linear::product(const at::Tensor& x) const {
  check_shape(x, {-1, weight_.size(1)}, "linear: x");
  check_dtype(x, compute_, "linear: x");
  if (!packed_.defined()) return at::linear(x, weight_.to(compute_), rounded_bias_);
  const int64_t rows = x.size(0);
  if (rows == 0) return at::empty({0, out_features()}, x.options());
  at::Tensor input = emulate_bfloat16_ ? x.to(at::kFloat) : x;
  // One row alone may take another kernel than two, with other bits.
  if (rows == 1) input = at::cat({input, input});
  const at::Tensor y = packed_product(input.contiguous(), packed_, rounded_bias_).narrow(0, 0, rows);
  return emulate_bfloat16_ ? y.to(at::kBFloat16) : y;
}

at::Tensor Linear::forward(const at::Tensor& x) const {
  if (!at::GradMode::is_enabled()) return product(x);
  return LinearFunction::apply(x, weight_, this);
}

at::Tensor Linear::backward(const at::Tensor& grad, const at::Tensor& x) const {
  const at::ScalarType work = emulate_bfloat16_ ? at::kFloat : compute_;
  const at::Tensor grad_work = grad.to(work);
  if (weight_.requires_grad()) {
    at::Tensor& weight_grad = weight_.mutable_grad();
    if (!weight_grad.defined()) weight_grad = at::zeros_like(weight_);
    if (work == weight_grad.scalar_type()) {
      weight_grad.addmm_(grad_work.t(), x.to(work));
    } else {
      weight_grad.add_(at::matmul(grad_work.t(), x.to(work)));
    }
    if (bias_.defined()) accumulate_grad(bias_, grad.sum(0, false, bias_.scalar_type()));
  }
  return at::matmul(grad_work, weight_.detach().to(compute_).to(work)).to(compute_);
}

void accumulate_grad(const at::Tensor& parameter, const at::Tensor& update) {
  if (!parameter.requires_grad()) return;
  at::Tensor& grad = parameter.mutable_grad();
  if (grad.defined()) {
    grad.add_(update);
  } else {
    grad = update.to(parameter.scalar_type()).clone();
  }
}

}  // namespace cohort
