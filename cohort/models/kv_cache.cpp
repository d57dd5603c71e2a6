#include "cohort/models/kv_cache.h"

#include "cohort/ops/dispatch.h"

namespace cohort {
namespace {

bool has_pages(at::ScalarType compute, at::Device device) {
  return has_cpu_kernel(at::empty({0}, at::TensorOptions().dtype(compute).device(device)));
}

}  // namespace

KvCache::KvCache(const DecoderConfig& config, int64_t num_pages, at::ScalarType compute, at::Device device)
    : is_paged_(has_pages(compute, device)) {
  const auto options = at::TensorOptions().dtype(compute).device(device);
  const int64_t heads = config.num_key_value_heads, dim = config.head_dim;
  for (int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    for (auto* tensors : {&keys_, &values_}) {
      tensors->push_back(is_paged_ ? make_pages(num_pages, heads, dim, options)
                                   : at::empty({num_pages, kKeyBlock, heads, dim}, options));
    }
  }
}

void KvCache::write(int64_t layer, const at::Tensor& rows, const at::Tensor& k, const at::Tensor& v) {
  if (is_paged_) {
    write_pages(rows, k, v, keys_[layer], values_[layer]);
    return;
  }
  keys_[layer].flatten(0, 1).index_copy_(0, rows, k.narrow(0, 0, rows.size(0)));
  values_[layer].flatten(0, 1).index_copy_(0, rows, v.narrow(0, 0, rows.size(0)));
}

void KvCache::copy_page(int64_t source, int64_t target) {
  for (auto* tensors : {&keys_, &values_}) {
    for (at::Tensor& tensor : *tensors) tensor.select(0, target).copy_(tensor.select(0, source));
  }
}

Attended KvCache::attend(int64_t layer, const at::Tensor& q, const AttentionPlan& plan,
                         const AttentionOptions& options) const {
  const at::Tensor &keys = keys_.at(layer), &values = values_.at(layer);
  if (is_paged_) return attend_pages(q, keys, values, plan, options);
  return {cohort::attend(q, keys.flatten(0, 1), values.flatten(0, 1), plan, options), {}};
}

int64_t KvCache::bytes_per_row(const DecoderConfig& config, at::ScalarType compute) {
  return 2 * config.num_hidden_layers * config.num_key_value_heads * page_head_elements(config.head_dim) /
         kKeyBlock * static_cast<int64_t>(c10::elementSize(compute));
}

}  // namespace cohort
