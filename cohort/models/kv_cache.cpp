#include "cohort/models/kv_cache.h"

namespace cohort {

KvCache::KvCache(const DecoderConfig& config, int64_t num_rows, at::ScalarType compute, at::Device device) {
  const auto options = at::TensorOptions().dtype(compute).device(device);
  for (int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    // Zeroed: an unused row must not hold a NaN that a zero weight would spread.
    keys_.push_back(at::zeros({num_rows, config.num_key_value_heads, config.head_dim}, options));
    values_.push_back(at::zeros_like(keys_.back()));
  }
}

void KvCache::write(int64_t layer, const at::Tensor& rows, const at::Tensor& k, const at::Tensor& v) {
  keys_[layer].index_copy_(0, rows, k.narrow(0, 0, rows.size(0)));
  values_[layer].index_copy_(0, rows, v.narrow(0, 0, rows.size(0)));
}

void KvCache::copy_rows(int64_t source, int64_t target, int64_t count) {
  for (auto* tensors : {&keys_, &values_}) {
    for (at::Tensor& tensor : *tensors)
      tensor.narrow(0, target, count).copy_(tensor.narrow(0, source, count));
  }
}

int64_t KvCache::bytes_per_row(const DecoderConfig& config, at::ScalarType compute) {
  return 2 * config.num_hidden_layers * config.num_key_value_heads * config.head_dim *
         static_cast<int64_t>(c10::elementSize(compute));
}

}  // namespace cohort
