#include "cohort/ops/linear.h"

#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include "cohort/core/error.h"
#include "cohort/ops/dispatch.h"
#include "cohort/ops/gradient.h"
#include "cohort/ops/lora.h"
#include "cohort/ops/panel_product_kernel.h"
#include "cohort/tensor/check.h"
#include "cohort/tensor/values.h"

namespace cohort {
namespace {

/// The weight in the layout of panel_product.
at::Tensor pack_for_panels(const at::Tensor& weight) {
  const int64_t out = weight.size(0), in = weight.size(1);
  const at::Tensor rows = weight.contiguous();
  const at::Tensor panels = at::empty({COHORT_CALL_KERNEL(panel_elements(out, in))}, weight.options());
  dispatch_float(weight, [&]<typename T>() {
    COHORT_CALL_KERNEL(pack_panels(rows.const_data_ptr<T>(), panels.mutable_data_ptr<T>(), out, in));
  });
  return panels;
}

at::Tensor unpack_panels(const at::Tensor& panels, at::IntArrayRef sizes) {
  at::Tensor weight = at::empty(sizes, panels.options());
  dispatch_float(weight, [&]<typename T>() {
    COHORT_CALL_KERNEL(
        unpack_panels(panels.const_data_ptr<T>(), weight.mutable_data_ptr<T>(), sizes[0], sizes[1]));
  });
  return weight;
}

/// `bias` [out] float32 or undefined.
at::Tensor product_with_panels(const at::Tensor& x, const at::Tensor& panels, const at::Tensor& bias,
                               int64_t out) {
  const at::Tensor rows = x.contiguous();
  at::Tensor y = at::empty({x.size(0), out}, x.options());
  const float* bias_data = bias.defined() ? bias.const_data_ptr<float>() : nullptr;
  dispatch_float(x, [&]<typename T>() {
    COHORT_CALL_KERNEL(panel_product(rows.const_data_ptr<T>(), panels.const_data_ptr<T>(), bias_data,
                                     y.mutable_data_ptr<T>(), x.size(0), out, x.size(1)));
  });
  return y;
}

/// The panels of matrix^T, rounded to `dtype`.
at::Tensor pack_transpose(const at::Tensor& matrix, at::ScalarType dtype) {
  const bool is_rounded_on_the_way = matrix.scalar_type() == at::kFloat && dtype == at::kBFloat16;
  const at::Tensor rows = (is_rounded_on_the_way ? matrix : matrix.to(dtype)).contiguous();
  const int64_t in = rows.size(0), out = rows.size(1);
  const at::Tensor panels =
      at::empty({COHORT_CALL_KERNEL(panel_elements(out, in))}, rows.options().dtype(dtype));
  dispatch_float(rows, [&]<typename Matrix>() {
    dispatch_float(panels, [&]<typename T>() {
      if constexpr (std::is_same_v<Matrix, T> || std::is_same_v<T, c10::BFloat16>) {
        COHORT_CALL_KERNEL(
            pack_panels_of_transpose(rows.const_data_ptr<Matrix>(), panels.mutable_data_ptr<T>(), out, in));
      }
    });
  });
  return panels;
}

/// total [out, in] += grad^T x, float32.
void add_weight_gradient(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& total) {
  const at::Tensor rows = grad.contiguous(), panels = pack_transpose(x, x.scalar_type());
  dispatch_float(grad, [&]<typename T>() {
    COHORT_CALL_KERNEL(add_product_of_transpose(rows.const_data_ptr<T>(), panels.const_data_ptr<T>(),
                                                total.mutable_data_ptr<float>(), grad.size(1), x.size(1),
                                                grad.size(0)));
  });
}

/// What a product needs beside its rows.
struct Product : torch::CustomClassHolder {
  Product(const Linear* linear, InputOp op, AdapterUse use, at::Tensor known)
      : linear(linear), op(std::move(op)), use(std::move(use)), known(std::move(known)) {}

  at::Tensor forward(const at::Tensor& source, const std::optional<at::Tensor>& residual) const {
    if (known.defined()) return known;
    at::Tensor y = linear->product(op ? op.rows(source) : source, use);
    return residual ? y.add_(*residual) : y;
  }

  const Linear* linear;
  InputOp op;  // makes what the product reads; none: the rows as they are
  AdapterUse use;
  at::Tensor known;  // the result, where it is known
};

class LinearFunction : public torch::autograd::Function<LinearFunction> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& source,
                            const std::optional<at::Tensor>& residual, const at::Tensor& trained_leaf,
                            c10::intrusive_ptr<Product> product) {
    (void)trained_leaf;  // an input, so that the product is differentiated even where the rows are constants
    context->save_for_backward({source});
    context->saved_data["has_residual"] = residual.has_value();
    at::Tensor y = product->forward(source, residual);
    product->known = at::Tensor();
    context->saved_data["product"] = c10::IValue::make_capsule(std::move(product));
    return y;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list grads) {
    const auto capsule = context->saved_data["product"].toCapsule();
    const auto& product = static_cast<const Product&>(*capsule);
    const at::Tensor residual = context->saved_data["has_residual"].toBool() ? grads[0] : at::Tensor();
    const at::Tensor source = context->get_saved_variables()[0].detach();
    const Linear& linear = *product.linear;
    if (!product.op) return {linear.backward(grads[0], source, product.use), residual, {}, {}};
    return {linear.backward(grads[0], product.op, source, product.use), residual, {}, {}};
  }
};

}  // namespace

Linear::Linear(at::Tensor weight, at::Tensor bias, at::ScalarType compute)
    : Linear(without_values(std::move(weight), std::move(bias), compute)) {
  repack();
}

Linear Linear::without_values(at::Tensor weight, at::Tensor bias, at::ScalarType compute, bool owns_weight) {
  Linear linear;
  linear.owns_weight_ = owns_weight;
  linear.weight_ = std::move(weight);
  linear.bias_ = std::move(bias);
  linear.compute_ = compute;
  return linear;
}

void Linear::repack() {
  const at::NoGradGuard no_grad;
  // A frozen weight is packed again only where it was set anew.
  if (weight_.requires_grad() || packed_version_ != weight_._version()) pack_weight();
  if (lora_ != nullptr) lora_->repack(lora_->has_magnitudes() ? values() : at::Tensor());
}

void Linear::pack_weight() {
  packed_version_ = weight_._version();
  const bool has_panels = weight_.is_cpu() && compute_ != at::kDouble;
  if (bias_.defined()) {
    rounded_bias_ = bias_.detach().to(compute_);
    if (has_panels) rounded_bias_ = rounded_bias_.to(at::kFloat);
  }
  if (!has_panels || is_packed_alone()) return;
  pack(weight_.detach());
  if (owns_weight_ && !weight_.requires_grad()) free_values(weight_);
}

void Linear::pack(const at::Tensor& values) {
  packed_ = at::Tensor();
  packed_ = pack_for_panels(values.to(compute_));
}

void Linear::free_master() {
  COHORT_CHECK(is_packed());
  free_values(weight_);
}

bool Linear::is_packed_alone() const { return packed_.defined() && !has_values(weight_); }

at::Tensor Linear::values() const {
  return is_packed_alone() ? unpack_panels(packed_, weight_.sizes()) : weight_.detach();
}

Linear Linear::frozen_copy() const {
  const at::NoGradGuard no_grad;
  Linear copy = *this;
  if (weight_.requires_grad()) {
    // The product reads the packed weight, which repack() replaces and never changes; of the master only the
    // sizes are needed.
    copy.weight_ = packed_.defined() ? at::empty_like(weight_, weight_.options().device(at::kMeta))
                                     : weight_.detach().clone();
    copy.owns_weight_ = true;
    if (bias_.defined()) {
      copy.bias_ = bias_.detach().clone();
      copy.rounded_bias_ = rounded_bias_.clone();
    }
  }
  if (lora_ != nullptr) copy.lora_ = std::make_shared<Lora>(lora_->frozen_copy());
  return copy;
}

void Linear::adapt(std::shared_ptr<Lora> lora) {
  lora_ = std::move(lora);
  repack();
}

const at::Tensor& Linear::trained_leaf(const AdapterUse& use) const {
  return is_adapted(use) ? lora_->parts().front().a : weight_;
}

at::Tensor Linear::product(const at::Tensor& x, const AdapterUse& use) const {
  COHORT_CHECK(packed_version_ >= 0, "linear: the weight has not been packed: repack() first");
  check_shape(x, {-1, weight_.size(1)}, "linear: x");
  check_dtype(x, compute_, "linear: x");
  if (!is_adapted(use)) return base_product(x, rounded_bias_);
  const at::Tensor bias = lora_->has_magnitudes() ? at::Tensor() : rounded_bias_;
  at::Tensor y = base_product(x, bias);
  lora_->add_to(y, x, rounded_bias_, use.dropout.get());
  return y;
}

at::Tensor Linear::base_product(const at::Tensor& x, const at::Tensor& bias) const {
  if (!packed_.defined()) return at::linear(x, weight_.to(compute_), bias);
  return product_with_panels(x, packed_, bias, out_features());
}

at::Tensor Linear::forward(const at::Tensor& x, const AdapterUse& use) const {
  return forward(x, InputOp(), use);
}

at::Tensor Linear::forward(const at::Tensor& source, const InputOp& op, const AdapterUse& use,
                           const std::optional<at::Tensor>& residual, const at::Tensor& known) const {
  auto product = c10::make_intrusive<Product>(this, op, use, known);
  if (!at::GradMode::is_enabled()) return product->forward(source, residual);
  return LinearFunction::apply(source, residual, trained_leaf(use), std::move(product));
}

at::Tensor Linear::backward(const at::Tensor& grad, const at::Tensor& x, const AdapterUse& use) const {
  return backward(grad, x, weight_for_backward(), use);
}

at::Tensor Linear::backward(const at::Tensor& grad, const InputOp& op, const at::Tensor& source,
                            const AdapterUse& use) const {
  if (op.backward && !is_adapted(use) && has_cpu_kernel(source)) {
    const InputGradient made = op.backward(source, base_input_gradient(grad, weight_for_backward()));
    add_base_gradients(grad, made.rows);
    return made.source;
  }
  const at::AutoGradMode with_graph(true);
  const at::Tensor leaf = source.detach().requires_grad_(true);
  const at::Tensor x = op.rows(leaf);
  torch::autograd::backward({x}, {backward(grad, x.detach(), use)});
  return leaf.grad();
}

at::Tensor Linear::backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& weight,
                            const AdapterUse& use) const {
  if (!is_adapted(use)) return base_backward(grad, x, weight);
  const at::NoGradGuard no_grad;
  const at::Tensor base = lora_->has_magnitudes() ? base_product(x, {}) : at::Tensor();
  const Lora::Gradients through = lora_->backward(grad, x, base, use.dropout.get());
  return (base_backward(through.base, x, weight).to(through.x.scalar_type()) + through.x).to(compute_);
}

at::Tensor Linear::weight_for_backward() const {
  return packed_.defined() ? pack_transpose(values(), compute_) : values().to(compute_);
}

void Linear::add_base_gradients(const at::Tensor& grad, const at::Tensor& x) const {
  if (!weight_.requires_grad()) return;
  const at::Tensor grad_y = grad.to(compute_);
  at::Tensor& total = gradient_of(weight_);
  if (packed_.defined() && total.scalar_type() == at::kFloat && total.is_contiguous()) {
    add_weight_gradient(grad_y, x, total);
  } else if (total.scalar_type() == compute_) {
    total.addmm_(grad_y.t(), x);
  } else {
    total.add_(at::matmul(grad_y.t(), x));
  }
  if (bias_.defined()) accumulate_grad(bias_, grad.sum(0, false, bias_.scalar_type()));
}

at::Tensor Linear::base_input_gradient(const at::Tensor& grad, const at::Tensor& weight) const {
  const at::Tensor grad_y = grad.to(compute_);
  if (packed_.defined()) return product_with_panels(grad_y, weight, {}, weight_.size(1));
  return at::matmul(grad_y, weight);
}

at::Tensor Linear::base_backward(const at::Tensor& grad, const at::Tensor& x,
                                 const at::Tensor& weight) const {
  add_base_gradients(grad, x);
  return base_input_gradient(grad, weight);
}

}  // namespace cohort
