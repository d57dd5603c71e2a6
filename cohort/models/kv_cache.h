// Keys and values of the tokens that were forwarded, one row a token and layer; which row is whose is the
// sampler's business. On the CPU they lie in pages, as attention multiplies them.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "cohort/models/decoder_config.h"
#include "cohort/models/layer_store.h"
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

/// The store of a pass whose keys and values go into a cache, from which its queries attend.
class CachedLayers : public LayerStore {
 public:
  /// `rows` [R] int64: the places of the pass's first R rows in `cache`, which must outlive this. `record`
  /// takes the activations; null: nobody does.
  CachedLayers(KvCache& cache, at::Tensor rows, std::unique_ptr<LayerStore> record)
      : cache_(cache), rows_(std::move(rows)), record_(std::move(record)) {}

  Attended attend(int64_t layer, const at::Tensor& q, const KeysAndValues& rows, const AttentionPlan& plan,
                  const AttentionOptions& options, const Attended&) override {
    cache_.write(layer, rows_, rows.k, rows.v);
    return cache_.attend(layer, q, plan, options);
  }

  void keep(int64_t layer, const LayerActivations& made) override {
    if (record_ != nullptr) record_->keep(layer, made);
  }

 private:
  KvCache& cache_;
  at::Tensor rows_;
  std::unique_ptr<LayerStore> record_;
};

}  // namespace cohort
