#include "cohort/models/kv_cache.h"

#include <ATen/Parallel.h>

#include <cstring>

namespace cohort {
namespace {

/// target[rows[i]] = source[i] on the CPU; several times as fast as index_copy_.
void write_rows(const at::Tensor& target, const at::Tensor& rows, const at::Tensor& source) {
  const at::Tensor from = source.contiguous();
  const auto bytes = static_cast<size_t>(from.stride(0) * from.element_size());
  const int64_t* row = rows.const_data_ptr<int64_t>();
  const auto* in = static_cast<const char*>(from.const_data_ptr());
  auto* out = static_cast<char*>(target.mutable_data_ptr());
  at::parallel_for(0, rows.size(0), 64, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) std::memcpy(out + row[i] * bytes, in + i * bytes, bytes);
  });
}

}  // namespace

KvCache::KvCache(const DecoderConfig& config, int64_t num_rows, at::ScalarType compute, at::Device device) {
  const auto options = at::TensorOptions().dtype(compute).device(device);
  for (int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    // Not zeroed: attention reads only rows that were written.
    keys_.push_back(at::empty({num_rows, config.num_key_value_heads, config.head_dim}, options));
    values_.push_back(at::empty_like(keys_.back()));
  }
}

void KvCache::write(int64_t layer, const at::Tensor& rows, const at::Tensor& k, const at::Tensor& v) {
  if (keys_[layer].is_cpu()) {
    write_rows(keys_[layer], rows, k);
    write_rows(values_[layer], rows, v);
    return;
  }
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
