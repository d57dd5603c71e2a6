#include "cohort/models/kv_cache.h"

#include <ATen/Parallel.h>

#include <cstring>

namespace cohort {
namespace {

/// target[rows[i]] = source[i] on the CPU; several times as fast as index_copy_.
void write_rows(const at::Tensor& target, const at::Tensor& rows, const at::Tensor& source) {
  const at::Tensor from = source.contiguous();
  const int64_t heads = from.size(1), item_bytes = from.element_size();
  const int64_t head_bytes = from.size(2) * item_bytes;
  const int64_t row_stride = target.stride(0) * item_bytes, head_stride = target.stride(1) * item_bytes;
  const int64_t* row = rows.const_data_ptr<int64_t>();
  const auto* in = static_cast<const char*>(from.const_data_ptr());
  auto* out = static_cast<char*>(target.mutable_data_ptr());
  at::parallel_for(0, rows.size(0), 64, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t head = 0; head < heads; ++head) {
        std::memcpy(out + row[i] * row_stride + head * head_stride, in + (i * heads + head) * head_bytes,
                    head_bytes);
      }
    }
  });
}

}  // namespace

KvCache::KvCache(const DecoderConfig& config, int64_t num_rows, at::ScalarType compute, at::Device device) {
  const auto options = at::TensorOptions().dtype(compute).device(device);
  for (int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    // Not zeroed: attention reads only rows that were written.
    for (auto* tensors : {&keys_, &values_}) {
      tensors->push_back(
          at::empty({config.num_key_value_heads, num_rows, config.head_dim}, options).transpose(0, 1));
    }
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
