// The CPU kernel of qkv_heads: parallel over rows; T is float or at::BFloat16, arithmetic is float32.
#pragma once

#include <cstdint>

#include "cohort/ops/cpu_arch.h"

namespace cohort {

struct QkvKernelArguments {
  int64_t num_heads;
  int64_t num_kv_heads;
  int64_t head_dim;
  const float* q_norm;  // [head_dim], or null: no norm
  const float* k_norm;
  float epsilon;
  const float* cos;  // [positions, head_dim / 2]
  const float* sin;
  const int64_t* positions;  // [rows]
  int64_t rows;
};

COHORT_DECLARE_KERNELS_WITHOUT_TILES(
    template <typename T>
    void qkv_heads_kernel(const QkvKernelArguments& arguments, const T* qkv, T* q, T* k, T* v);

    // Writes grad_qkv and adds to grad_norms [2, head_dim] (q_norm, then k_norm).
    template <typename T>
    void qkv_heads_backward_kernel(const QkvKernelArguments& arguments, const T* qkv, const T* grad_q,
                                   const T* grad_k, const T* grad_v, T* grad_qkv, float* grad_norms);)

}  // namespace cohort
