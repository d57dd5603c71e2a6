// The decoder of Llama, Qwen2 and Qwen3: the one forward that sampler and trainer share.
// Legend: N rows of a packed batch, H hidden_size, V vocab_size.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cohort/models/decoder_config.h"
#include "cohort/models/kv_cache.h"
#include "cohort/ops/attention.h"
#include "cohort/ops/linear.h"
#include "cohort/ops/qkv_heads.h"
#include "cohort/tensor/safetensors.h"

namespace cohort {

/// The rows of one forward pass. Must stay alive until the backward is done.
struct DecoderInput {
  /// Fills token_ids and positions; rows that belong to no sequence follow, up to padded_rows.
  void set_rows(std::vector<int64_t> token_ids, std::vector<int64_t> positions, at::Device device);

  at::Tensor token_ids;  ///< [N] int64
  at::Tensor positions;  ///< [N] int64
  AttentionPlan plan;    ///< key rows are rows of this batch, or of `cache` where there is one
  KvCache* cache = nullptr;
  at::Tensor cache_rows;  ///< int64: where the first rows' keys and values go; undefined without a cache
  bool recompute =
      false;  ///< keep only each layer's input for the backward, and forward the layer again there
};

class DecoderLayer;

class Decoder {
 public:
  /// Random weights: normal with initializer_range, norms 1, biases 0; a pure function of `seed`. `compute`
  /// is float32 or bfloat16 (masters are float32), or float64 in tests.
  Decoder(DecoderConfig config, at::ScalarType compute, at::Device device, uint64_t seed = 0);
  ~Decoder();
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  /// The rows behind the last layer, before the final norm: [N, H] in the compute dtype, with gradient to all
  /// weights where gradients are on.
  at::Tensor forward(const DecoderInput& input) const;

  /// Selected rows of `hidden` through the final norm: what the head sees. `rows` [M] int64.
  at::Tensor head_input(const at::Tensor& hidden, const at::Tensor& rows) const;

  const Linear& head() const { return head_; }
  const DecoderConfig& config() const { return config_; }
  at::ScalarType compute_dtype() const { return compute_; }
  at::Device device() const { return embedding_.device(); }

  /// The trained leaves. Projections that read the same input are one leaf (q | k | v, gate | up).
  const std::vector<at::Tensor>& parameters() const { return parameters_; }

  /// Views of the masters by Hugging Face name, in the order of the layers.
  const NamedTensors& named_weights() const { return named_weights_; }

  int64_t num_parameters() const;

  /// Brings the packed compute copies up to date after the masters changed.
  void refresh();

 private:
  at::Tensor embed(const at::Tensor& token_ids) const;

  DecoderConfig config_;
  at::ScalarType compute_;
  at::Tensor embedding_;   // [V, H]
  at::Tensor final_norm_;  // [H]
  Linear head_;            // on embedding_ where tied
  RopeTable rope_;
  std::vector<std::unique_ptr<DecoderLayer>> layers_;
  std::vector<at::Tensor> parameters_;
  NamedTensors named_weights_;
};

}  // namespace cohort
