// From the projected rows q | k | v to the heads that attention reads: optional norm per head, then rotary
// positions.
#pragma once

#include <ATen/ATen.h>

#include "cohort/ops/rms_norm.h"

namespace cohort {

/// cos and sin of position * frequency, arXiv:2104.09864 eq. 34; the halves of a head are rotated against
/// each other.
struct RopeTable {
  at::Tensor cos;  ///< [positions, head_dim / 2] float32 (float64 in tests)
  at::Tensor sin;  ///< the same
};

/// `frequencies` [head_dim / 2] float32, radians a position; cosine and sine come multiplied with `scale`.
/// Angles are float32 products, as in transformers.
RopeTable make_rope_table(const at::Tensor& frequencies, int64_t num_positions, double scale = 1.0);

struct QkvShape {
  int64_t num_heads;
  int64_t num_kv_heads;
  int64_t head_dim;
};

struct QkvHeads {
  at::Tensor q;  ///< [N, num_heads, head_dim]
  at::Tensor k;  ///< [N, num_kv_heads, head_dim]
  at::Tensor v;  ///< [N, num_kv_heads, head_dim]
};

/// Splits `qkv` [N, (num_heads + 2 num_kv_heads) head_dim] into heads. With norms (weights [head_dim], or
/// undefined) each q and k head is normalised first. `positions` [N] int64. Computed in float32, rounded
/// once. Gradient to qkv and the norms.
QkvHeads qkv_heads(const at::Tensor& qkv, const QkvShape& shape, const RmsNorm& q_norm, const RmsNorm& k_norm,
                   const RopeTable& rope, const at::Tensor& positions);

}  // namespace cohort
