// Keys and values of the tokens that were forwarded, one row a token and layer; which row is whose is the
// sampler's business. On the CPU they lie in pages, as attention multiplies them.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

#include "cohort/models/decoder_config.h"
#include "cohort/ops/attention.h"

namespace cohort {

class KvCache {
 public:
  /// `num_pages` pages in `compute` dtype on `device`; the memory is taken at once.
  KvCache(const DecoderConfig& config, int64_t num_pages, at::ScalarType compute, at::Device device);

  /// Writes the first R rows of `k` and `v` [N, num_kv_heads, head_dim] to `rows` [R] int64 of a layer.
  void write(int64_t layer, const at::Tensor& rows, const at::Tensor& k, const at::Tensor& v);

  /// Copies a page, of kKeyBlock rows, in every layer.
  void copy_page(int64_t source, int64_t target);

  /// attend() over the rows of a layer; each range of `plan` is one whole page. Without gradient on the CPU,
  /// and on other devices without log_sum_exp.
  Attended attend(int64_t layer, const at::Tensor& q, const AttentionPlan& plan,
                  const AttentionOptions& options) const;

  /// Bytes that one row takes over all layers.
  static int64_t bytes_per_row(const DecoderConfig& config, at::ScalarType compute);

 private:
  bool is_paged_;
  std::vector<at::Tensor> keys_,
      values_;  // per layer: pages, or [num_pages, kKeyBlock, num_kv_heads, head_dim]
};

}  // namespace cohort
