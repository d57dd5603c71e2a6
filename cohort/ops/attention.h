// Causal attention over sequences whose keys lie in ranges of rows: one kernel for the trainer's packed rows
// and the sampler's cache pages, so that sharing a prompt is a matter of naming its rows.
//
// Exactness: the keys of a query are taken in tiles of 64 by logical position, in order, with an online
// softmax (arXiv:1805.02867); tiles ignore where ranges begin and end. A query's result therefore does not
// depend on the other queries, on the layout of the rows or on the number of threads.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "cohort/ops/attention_plan.h"

namespace cohort {

struct AttentionOptions {
  double scale = 1.0;    ///< what a query's dot product with a key is multiplied with
  int64_t window = 0;    ///< a query sees itself and the window - 1 positions before it; 0: all before it
  double softcap = 0.0;  ///< scores become softcap * tanh(score / softcap), arXiv:2408.00118; 0: as they are
};

/// What attention gives for N queries.
struct Attended {
  at::Tensor rows;         ///< [N, num_heads, head_dim]
  at::Tensor log_sum_exp;  ///< [N, num_heads] float32, of the scores of each query
};

/// softmax(q k^T * scale) v for every query of `plan`.
/// `q` [N, num_heads, head_dim], `k` and `v` [R, num_kv_heads, head_dim], num_heads a multiple of
/// num_kv_heads (grouped queries, arXiv:2305.13245); float32 or bfloat16, computed in float32 and rounded
/// once. Rows of q that no sequence names come out as zero. Gradient to q, k and v; `plan` must stay alive
/// until the backward is done. `known`, where it is defined, is the result, which the CPU's kernels do not
/// compute again.
at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const AttentionPlan& plan,
                  const AttentionOptions& options, const Attended& known = {});

/// Keys or values for the CPU's kernels: page p holds rows [16 p, 16 p + 16), as the kernels multiply them.
/// `options` float32 or bfloat16 on the CPU.
at::Tensor make_pages(int64_t num_pages, int64_t num_kv_heads, int64_t head_dim,
                      const at::TensorOptions& options);

/// Elements of one head in a page.
int64_t page_head_elements(int64_t head_dim);

/// Writes the first R rows of `k` and `v` [N, num_kv_heads, head_dim] to `rows` [R] int64 of pages.
void write_pages(const at::Tensor& rows, const at::Tensor& k, const at::Tensor& v,
                 const at::Tensor& key_pages, const at::Tensor& value_pages);

/// attend(), with the same bits, over keys and values in pages: each range of `plan` is one whole page.
/// Without gradient.
Attended attend_pages(const at::Tensor& q, const at::Tensor& key_pages, const at::Tensor& value_pages,
                      const AttentionPlan& plan, const AttentionOptions& options);

}  // namespace cohort
