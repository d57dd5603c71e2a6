// What the layers of a pass find stored and leave behind: nothing, a cache of keys and values (kv_cache.h),
// or a record of activations that the pass writes or reads (activation_record.h). A decoder's layers know
// this interface alone.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

#include "cohort/ops/attention.h"

namespace cohort {

/// The results of a layer's matrix products and attention for N rows. The layer computes everything else from
/// them again. In the last layer, the parts after `qkv` have only the result rows.
struct LayerActivations {
  at::Tensor qkv;      ///< [N, (num_heads + 2 num_kv_heads) head_dim] before norms and RoPE
  Attended attended;   ///< [N, num_heads, head_dim]
  at::Tensor output;   ///< [N, hidden_size] of the attention's output projection; the layer's input is added
                       ///< if no norm stands between
  at::Tensor gate_up;  ///< [N, 2 intermediate_size]
  at::Tensor down;     ///< [N, hidden_size] of the MLP's last projection; its input is added in the same case
};

/// The keys and values of a pass's rows: [N, num_kv_heads, head_dim].
struct KeysAndValues {
  const at::Tensor &k, &v;
};

/// The base class stores nothing. Different layers and rows may be used by several threads at once.
class LayerStore {
 public:
  virtual ~LayerStore() = default;

  /// True if output() and down() give every layer's result, so that a pass without gradient computes nothing.
  virtual bool has_outputs() const { return false; }

  /// The activations of a layer that are stored for the rows of this pass. The layer computes undefined
  /// parts.
  virtual LayerActivations known(int64_t) const { return {}; }

  /// One part of a layer's activations. Only if has_outputs().
  virtual at::Tensor output(int64_t) const { return {}; }
  virtual at::Tensor down(int64_t) const { return {}; }

  /// Attends from `q` [rows of `plan`, num_heads, head_dim], with gradient if gradients are on. `known`: what
  /// is stored of the result.
  virtual Attended attend(int64_t, const at::Tensor& q, const KeysAndValues& rows, const AttentionPlan& plan,
                          const AttentionOptions& options, const Attended& known) {
    return {cohort::attend(q, rows.k, rows.v, plan, options, known), {}};
  }

  /// Takes what a layer made of the rows of this pass.
  virtual void keep(int64_t, const LayerActivations&) {}
};

}  // namespace cohort
