#include "cohort/models/activation_record.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "cohort/core/error.h"
#include "cohort/models/decoder.h"

namespace cohort {
namespace {

/// Calls f for each tensor of a layer and that of others at its side.
template <typename F, typename... Layers>
void for_each_part(F f, Layers&... layers) {
  f(layers.qkv...);
  f(layers.attended.rows...);
  f(layers.attended.log_sum_exp...);
  f(layers.output...);
  f(layers.gate_up...);
  f(layers.down...);
}

LayerActivations make_layer(const DecoderConfig& config, int64_t num_rows, const at::TensorOptions& options,
                            RecordedParts parts) {
  const int64_t heads = config.num_attention_heads, kv_heads = config.num_key_value_heads;
  const auto rows_of = [&](at::IntArrayRef sizes, const at::TensorOptions& as) {
    std::vector<int64_t> all{num_rows};
    all.insert(all.end(), sizes.begin(), sizes.end());
    return at::empty(all, as);
  };
  LayerActivations layer;
  layer.down = rows_of({config.hidden_size}, options);
  if (parts == RecordedParts::kDown) return layer;
  layer.qkv = rows_of({(heads + 2 * kv_heads) * config.head_dim}, options);
  layer.attended = {rows_of({heads, config.head_dim}, options), rows_of({heads}, options.dtype(at::kFloat))};
  layer.output = rows_of({config.hidden_size}, options);
  layer.gate_up = rows_of({2 * config.intermediate_size}, options);
  return layer;
}

int64_t row_bytes(const at::Tensor& tensor) { return tensor.stride(0) * tensor.element_size(); }

std::vector<int64_t> row_numbers(const std::vector<RowRange>& ranges) {
  std::vector<int64_t> rows;
  for (const RowRange& range : ranges) {
    for (int64_t row = range.begin; row < range.end; ++row) rows.push_back(row);
  }
  return rows;
}

/// Copies the rows of `source` to `rows` of `target`.
void copy_rows(const at::Tensor& source, const at::Tensor& target, const std::vector<int64_t>& rows) {
  const at::Tensor from = source.contiguous();
  const int64_t bytes = row_bytes(target);
  COHORT_CHECK(from.size(0) == std::ssize(rows) && row_bytes(from) == bytes);
  const auto* begin = static_cast<const std::byte*>(from.const_data_ptr());
  auto* to = static_cast<std::byte*>(target.mutable_data_ptr());
  at::parallel_for(0, std::ssize(rows), 16, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) std::memcpy(to + rows[i] * bytes, begin + i * bytes, bytes);
  });
}

}  // namespace

bool ActivationRecord::fits(const Decoder& decoder) {
  const std::vector<LayerConfig>& layers = decoder.config().layers;
  const bool has_kernels = !decoder.device().is_cuda() && decoder.compute_dtype() != at::kDouble;
  return has_kernels &&
         std::ranges::none_of(layers, [](const LayerConfig& layer) { return layer.has_experts; });
}

int64_t ActivationRecord::bytes_per_row(const DecoderConfig& config, at::ScalarType compute,
                                        RecordedParts parts) {
  LayerActivations row = make_layer(config, 1, at::TensorOptions().dtype(compute).device(at::kMeta), parts);
  int64_t bytes = 0;
  for_each_part([&](const at::Tensor& part) { bytes += part.defined() ? row_bytes(part) : 0; }, row);
  return config.num_hidden_layers * bytes;
}

void ActivationRecord::begin(const Decoder& decoder, int64_t num_rows) {
  COHORT_CHECK(fits(decoder));
  if (layers_.empty() || layers_.front().down.size(0) < num_rows) {
    layers_.clear();
    for (int64_t i = 0; i < decoder.config().num_hidden_layers; ++i)
      layers_.push_back(make_layer(decoder.config(), num_rows, decoder.options(), parts_));
  }
  decoder_ = &decoder;
  weights_version_ = decoder.weights_version();
  num_rows_ = num_rows;
  num_taken_ = 0;
  prompts_.clear();
}

RecordedRows ActivationRecord::reserve(const std::vector<int32_t>& prompt_ids, int64_t longest) {
  const auto [prompt, is_new] = prompts_.try_emplace(prompt_ids, RecordedPrompt{num_taken_});
  if (is_new) num_taken_ += std::ssize(prompt_ids);
  const int64_t completion = std::exchange(num_taken_, num_taken_ + longest - 1);
  COHORT_CHECK(num_taken_ <= num_rows_, num_taken_, " rows in a record of ", num_rows_);
  return {prompt->second.row, completion};
}

void ActivationRecord::add(const std::vector<int32_t>& prompt_ids, const std::vector<int32_t>& completion_ids,
                           RecordedRows rows) {
  prompts_.at(prompt_ids).completions.try_emplace(completion_ids, rows.completion);
}

std::optional<RecordedRows> ActivationRecord::find(const std::vector<int32_t>& prompt_ids,
                                                   const std::vector<int32_t>& completion_ids) const {
  const auto prompt = prompts_.find(prompt_ids);
  if (prompt == prompts_.end()) return std::nullopt;
  const auto& [row, completions] = prompt->second;
  const auto found = completions.find(completion_ids);
  if (found == completions.end()) return std::nullopt;
  return RecordedRows{row, found->second};
}

bool ActivationRecord::holds_for(const Decoder& decoder, const AdapterUse& use) const {
  const bool is_adapted_as_written = !decoder.is_adapted() || (use.enabled && use.dropout == nullptr);
  return decoder_ == &decoder && weights_version_ == decoder.weights_version() && is_adapted_as_written;
}

const std::vector<RowRange>& ActivationRecord::behind_qkv(int64_t layer, const RecordRows& rows) const {
  return layer + 1 == std::ssize(layers_) ? rows.results : rows.all;
}

void ActivationRecord::write(int64_t layer, const RecordRows& rows, const LayerActivations& made) {
  const LayerActivations& kept = layers_.at(layer);
  const std::vector<int64_t> all = row_numbers(rows.all), behind = row_numbers(behind_qkv(layer, rows));
  const auto copy = [&](const at::Tensor& from, const at::Tensor& to) {
    if (from.defined() && to.defined()) copy_rows(from, to, &from == &made.qkv ? all : behind);
  };
  for_each_part(copy, made, kept);
}

LayerActivations ActivationRecord::read(int64_t layer, const RecordRows& rows) const {
  const at::NoGradGuard no_grad;
  const LayerActivations& kept = layers_.at(layer);
  LayerActivations known;
  const auto take = [&](const at::Tensor& from, at::Tensor& to) {
    if (from.defined()) to = rows_in(from, &from == &kept.qkv ? rows.all : behind_qkv(layer, rows));
  };
  for_each_part(take, kept, known);
  return known;
}

bool ActivationRecord::has_same(const RecordRows& rows, const ActivationRecord& other,
                                const RecordRows& other_rows) const {
  COHORT_CHECK(parts_ == other.parts_);
  bool is_same = layers_.size() == other.layers_.size();
  for (size_t i = 0; is_same && i < layers_.size(); ++i) {
    const auto layer = static_cast<int64_t>(i);
    const LayerActivations one = read(layer, rows), two = other.read(layer, other_rows);
    for (const auto& [a, b] : {std::pair(one.qkv, two.qkv), std::pair(one.attended.rows, two.attended.rows),
                               std::pair(one.output, two.output), std::pair(one.gate_up, two.gate_up),
                               std::pair(one.down, two.down)})
      is_same &= !a.defined() || at::equal(a.contiguous().view(at::kByte), b.contiguous().view(at::kByte));
  }
  return is_same;
}

at::Tensor ActivationRecord::read_output(int64_t layer, const RecordRows& rows) const {
  return rows_in(layers_.at(layer).output, behind_qkv(layer, rows));
}

at::Tensor ActivationRecord::read_down(int64_t layer, const RecordRows& rows) const {
  return rows_in(layers_.at(layer).down, behind_qkv(layer, rows));
}

}  // namespace cohort
