// The CPU kernel of attention; T is float or at::BFloat16, arithmetic is float32.
#pragma once

#include <cstdint>

#include "cohort/ops/attention_plan.h"
#include "cohort/ops/cpu_arch.h"

namespace cohort {

/// Elements that a head takes in pages and in the kernels' memory.
constexpr int64_t padded_head_dim(int64_t head_dim) { return (head_dim + 15) / 16 * 16; }

struct AttentionShape {
  int64_t num_heads;
  int64_t num_kv_heads;
  int64_t head_dim;
  float scale;
  int64_t window;                           // 0: none
  float softcap;                            // 0: none
  int64_t key_row_stride, key_head_stride;  // of k and of v
  bool is_paged;                            // k and v are pages (attention.h), and strides mean nothing
};

COHORT_DECLARE_KERNELS(
    // q [N, num_heads, head_dim] -> out, the same shape; `log_sum_exp` [N, num_heads].
    template <typename T>
    void attention_kernel(const AttentionPlan& plan, const AttentionShape& shape, const T* q, const T* k,
                          const T* v, T* out, float* log_sum_exp);

    // Rows of k and v [num_rows, num_kv_heads, head_dim] -> rows `rows` of the pages.
    template <typename T> void write_pages(const AttentionShape& shape, const int64_t* rows, int64_t num_rows,
                                           const T* k, const T* v, T* key_pages, T* value_pages);

    // Writes grad_q; adds to grad_k and grad_v, which are float32 and zero at the start.
    template <typename T>
    void attention_backward_kernel(const AttentionPlan& plan, const AttentionShape& shape, const T* q,
                                   const T* k, const T* v, const T* out, const float* log_sum_exp,
                                   const T* grad_out, T* grad_q, float* grad_k, float* grad_v);)

}  // namespace cohort
