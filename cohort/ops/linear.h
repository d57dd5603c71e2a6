// y = x W^T + b, with a packed copy of W whose product gives each row the same bits for any number of rows
// and threads.
#pragma once

#include <ATen/ATen.h>

#include <memory>
#include <optional>

#include "cohort/ops/adapter_use.h"
#include "cohort/ops/input_op.h"

namespace cohort {

class Lora;

/// A weight, its gradient and the packed copy that the forward uses. The weight is a float32 master, or,
/// without a gradient of its own, a frozen one in the compute dtype; then adapters may add to the product
/// (lora.h).
///
/// On the CPU products go through an own kernel (panel_product_kernel.h). float64 (tests) and other devices
/// use at::linear.
class Linear {
 public:
  Linear() = default;

  /// `weight` [out, in] is the master (a leaf; its `.grad` is accumulated into by backward), `bias` [out] or
  /// undefined. `compute` is the dtype of inputs and outputs.
  Linear(at::Tensor weight, at::Tensor bias, at::ScalarType compute);

  /// The same for a weight that gets its values later; repack() is due before the first product.
  /// `owns_weight`: nobody else reads the weight. A frozen one in the compute dtype then lies in memory
  /// packed alone: of weight() only the sizes are left, values() reads the packed copy.
  static Linear without_values(at::Tensor weight, at::Tensor bias, at::ScalarType compute,
                               bool owns_weight = false);

  /// `x` [N, in] in the compute dtype -> [N, out] in the compute dtype. Carries gradient to x and to what is
  /// trained: weight and bias, or the adapters if `use` has them on.
  at::Tensor forward(const at::Tensor& x, const AdapterUse& use = {}) const;

  /// forward(op(source)) + `residual` [N, out], where there is one; carries gradient to it, too. Of
  /// op(source) only `source` [N, any] is kept for the backward: it calls `op`, where there is one, again.
  /// `known` [N, out], where it is defined, is the result, which is not computed again.
  at::Tensor forward(const at::Tensor& source, const InputOp& op, const AdapterUse& use = {},
                     const std::optional<at::Tensor>& residual = {}, const at::Tensor& known = {}) const;

  /// Brings the packed copy up to date after the master or the adapters changed.
  void repack();

  /// Packs `values` [out, in], rounded to the compute dtype, in place of the master's.
  void pack(const at::Tensor& values);

  /// Whether the product reads a packed copy.
  bool is_packed() const { return packed_.defined(); }

  /// Frees the master of a packed weight, which somebody else keeps. Of weight() only sizes are left;
  /// values() reads the packed copy and repack() leaves it.
  void free_master();

  /// The same product, which later changes of this Linear's weight and adapters don't reach. Shares the
  /// packed weight until the next repack(). Carries no gradient.
  Linear frozen_copy() const;

  /// Adds adapters to the product.
  void adapt(std::shared_ptr<Lora> lora);
  const Lora* lora() const { return lora_.get(); }

  /// A leaf that the result depends on and that wants a gradient, where there is one: the weight, or an
  /// adapter's.
  const at::Tensor& trained_leaf(const AdapterUse& use = {}) const;

  const at::Tensor& weight() const { return weight_; }

  /// [out, in] the weight's values, without gradient.
  at::Tensor values() const;

  const at::Tensor& bias() const { return bias_; }
  at::ScalarType compute_dtype() const { return compute_; }
  int64_t out_features() const { return weight_.size(0); }

  /// The product alone, outside autograd; see forward.
  at::Tensor product(const at::Tensor& x, const AdapterUse& use = {}) const;

  /// `grad` [N, out] -> the gradient of x [N, in]; adds to the gradients of weight and bias where they want
  /// one. `use` is that of the forward. `weight` is weight_for_backward(), which callers with rows in several
  /// pieces make once.
  at::Tensor backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& weight,
                      const AdapterUse& use = {}) const;
  at::Tensor backward(const at::Tensor& grad, const at::Tensor& x, const AdapterUse& use = {}) const;

  /// The same for rows that `op` makes of `source`, whose gradient it gives.
  at::Tensor backward(const at::Tensor& grad, const InputOp& op, const at::Tensor& source,
                      const AdapterUse& use) const;

  /// The weight as it is now, laid out for backward.
  at::Tensor weight_for_backward() const;

 private:
  bool is_adapted(const AdapterUse& use) const { return lora_ != nullptr && use.enabled; }
  at::Tensor base_product(const at::Tensor& x, const at::Tensor& bias) const;
  at::Tensor base_input_gradient(const at::Tensor& grad, const at::Tensor& weight) const;
  void add_base_gradients(const at::Tensor& grad, const at::Tensor& x) const;
  at::Tensor base_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& weight) const;
  void pack_weight();
  bool is_packed_alone() const;

  at::Tensor weight_;
  at::Tensor bias_;
  std::shared_ptr<Lora> lora_;
  at::ScalarType compute_ = at::kFloat;
  int64_t packed_version_ = -1;
  at::Tensor packed_;        // undefined on the ATen path
  at::Tensor rounded_bias_;  // bias in the dtype that the product adds it in
  bool owns_weight_ = false;
};

}  // namespace cohort
