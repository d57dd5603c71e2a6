// Keys and values of the tokens that were forwarded, one row a token and layer; which row is whose is the
// sampler's business. A head's rows lie side by side, so that a page of them is read in one piece.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

#include "cohort/models/decoder_config.h"

namespace cohort {

class KvCache {
 public:
  /// `num_rows` rows in `compute` dtype on `device`; the memory is taken at once.
  KvCache(const DecoderConfig& config, int64_t num_rows, at::ScalarType compute, at::Device device);

  /// Writes the first R rows of `k` and `v` [N, num_kv_heads, head_dim] to `rows` [R] int64 of a layer.
  void write(int64_t layer, const at::Tensor& rows, const at::Tensor& k, const at::Tensor& v);

  /// Copies `count` rows from `source` on to `target` on, in every layer.
  void copy_rows(int64_t source, int64_t target, int64_t count);

  /// [num_rows, num_kv_heads, head_dim], not contiguous.
  const at::Tensor& keys(int64_t layer) const { return keys_.at(layer); }
  const at::Tensor& values(int64_t layer) const { return values_.at(layer); }

  /// Bytes that one row takes over all layers.
  static int64_t bytes_per_row(const DecoderConfig& config, at::ScalarType compute);

 private:
  std::vector<at::Tensor> keys_;  // per layer [num_rows, num_kv_heads, head_dim]
  std::vector<at::Tensor> values_;
};

}  // namespace cohort
