// The decoder of all families: the one forward that sampler and trainer share.
// Legend: N rows of a packed batch, R of them whose results are read, H hidden_size, V vocab_size.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cohort/models/activation_record.h"
#include "cohort/models/decoder_config.h"
#include "cohort/models/kv_cache.h"
#include "cohort/models/lora_config.h"
#include "cohort/ops/attention.h"
#include "cohort/ops/linear.h"
#include "cohort/ops/lora.h"
#include "cohort/ops/moe.h"
#include "cohort/ops/qkv_heads.h"
#include "cohort/tensor/safetensors.h"

namespace cohort {

/// The rows of a pass whose results are read, where it is not all of them.
struct ResultRows {
  std::vector<RowRange> rows;  ///< ascending
  AttentionPlan plan;          ///< of these alone, one behind the other
};

/// The rows of one forward pass. Must stay alive until the backward is done.
struct DecoderInput {
  /// Fills token_ids and positions for a decoder on this device.
  void set_rows(const std::vector<int64_t>& token_ids, const std::vector<int64_t>& positions,
                at::Device device);

  /// Says that of the rows in `plan` only the results of these, ascending, are read: the last layer makes of
  /// the others no more than queries, keys and values.
  void set_result_rows(std::vector<RowRange> rows);

  /// The ranges `all` in which a record has these rows, with the result rows among them, which must be set.
  RecordRows in_record(std::vector<RowRange> all) const;

  /// Whether all that the layers make of the rows is recorded.
  bool has_layers() const { return !recorded.empty() && record->parts() == RecordedParts::kAll; }

  at::Tensor token_ids;  ///< [N] int64
  at::Tensor positions;  ///< [N] int64
  AttentionPlan plan;    ///< key rows are rows of this batch, or of `cache` where there is one
  KvCache* cache = nullptr;
  at::Tensor cache_rows;  ///< int64: where the first rows' keys and values go; undefined without a cache
  std::optional<ResultRows> results;   ///< none: those of all rows are read
  ActivationRecord* record = nullptr;  ///< of what the layers make of the rows:
  RecordRows record_rows;              ///< where a pass writes that; empty: nowhere
  RecordRows recorded;                 ///< where it was written; empty: the pass makes everything
  bool recompute =
      false;  ///< keep only each layer's input for the backward, and forward the layer again there
  RouterBalance* balance = nullptr;  ///< asks for the balance loss of mixtures of experts; see moe.h
};

class DecoderLayer;
struct LinearModule;
struct LayerProduct;

/// Makes a master leaf of the given sizes, filled with its initial values.
using MakeParameter = std::function<at::Tensor(at::IntArrayRef sizes, double mean, double deviation)>;

class Decoder {
 public:
  /// Random weights: normal with initializer_range, norms 1 (offset included), biases 0; a pure function of
  /// `seed`. Without a seed they are not set, for a caller that sets all of them. `compute` is float32 or
  /// bfloat16 (masters are float32), or float64 in tests. On the meta device it has names and shapes only. A
  /// frozen decoder has weights in the compute dtype and no parameters until it is adapted.
  Decoder(DecoderConfig config, at::ScalarType compute, at::Device device, std::optional<uint64_t> seed = 0,
          bool is_frozen = false);
  ~Decoder();
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  /// The longest sequence of the run, which fixes the frequencies of dynamic and longrope positions.
  /// Without a call it is the model's max_position_embeddings.
  void plan_length(int64_t longest_sequence);

  /// The result rows behind the last layer, before the final norm: [R, H] in the compute dtype, with gradient
  /// to all weights where gradients are on. Threads may forward side by side.
  at::Tensor forward(const DecoderInput& input) const;

  /// Selected rows of `hidden` through the final norm: what the head sees. `rows` int64.
  at::Tensor head_input(const at::Tensor& hidden, const at::Tensor& rows) const;

  /// Adds low-rank adapters to a frozen decoder whose weights are set: A random by `seed`, B zero. Throws
  /// ConfigError when a setting fits no module of the model.
  void adapt(const LoraConfig& config, uint64_t seed);

  /// Whether its weights are in the compute dtype and have no gradients.
  bool is_frozen() const { return is_frozen_; }

  /// What all adapters share: whether they are on, and their dropout. Null without adapters.
  LoraState* lora_state() const { return lora_state_.get(); }
  const LoraConfig& lora_config() const { return lora_config_; }

  const Linear& head() const { return saved_head_ && lora_state_->enabled ? *saved_head_ : head_; }
  const DecoderConfig& config() const { return config_; }

  /// The layers' matrix products in the order of a pass, mixtures' experts included.
  std::vector<LayerProduct> layer_products() const;

  at::ScalarType compute_dtype() const { return compute_; }
  at::Device device() const { return embedding_.device(); }

  /// Device and compute dtype.
  at::TensorOptions options() const { return at::TensorOptions(device()).dtype(compute_); }

  /// The trained leaves: all weights, of which projections that read the same input are one (q | k | v,
  /// gate | up), or the adapters'.
  const std::vector<at::Tensor>& parameters() const { return parameters_; }

  /// Views of the masters by Hugging Face name, in the order of the layers. Of a frozen decoder's projections
  /// only the sizes are left once refresh() has packed them.
  const NamedTensors& named_weights() const { return named_weights_; }

  /// Views of the adapters' leaves, by PEFT's names; empty without adapters.
  const NamedTensors& adapter_weights() const { return adapter_weights_; }

  /// Of the model without its adapters.
  int64_t num_parameters() const;

  /// What a run changes: the adapters where there are any, else all weights.
  const NamedTensors& trained_weights() const { return lora_state_ ? adapter_weights_ : named_weights_; }

  /// Whether products are so small that threads which share one wait for one another more than they compute:
  /// then each does best with rows of its own. Only for CPU kernels; never with dropout, whose addresses hold
  /// for one pass at a time.
  bool is_small() const;

  /// The same for a pass of the sampler, where rows of their own cost threads no memory for gradients and
  /// activations.
  bool is_small_to_sample() const;

  /// Elements of parameters().
  int64_t num_trained() const;

  /// Brings the packed compute copies up to date after the masters changed.
  void refresh();

  /// Counts the calls of refresh().
  int64_t weights_version() const { return weights_version_; }

  /// Whether a pass with gradient draws random numbers, so that it is another than the sampler's.
  bool draws_dropout() const { return lora_state_ != nullptr && lora_config_.dropout > 0.0; }

 private:
  bool suits_rows_per_thread(int64_t most_parameters) const;

  at::Tensor embed(const at::Tensor& token_ids) const;
  void make_head(const MakeParameter& make);
  std::vector<LinearModule> adaptable_modules();
  void add_leaf(const std::string& name, const at::Tensor& leaf);
  void save_module(const std::string& name);
  std::vector<RopeTable> ropes(int64_t count) const;

  DecoderConfig config_;
  at::ScalarType compute_;
  at::Tensor embedding_;  // [V, H]
  double embedding_scale_;
  RmsNorm final_norm_;
  Linear head_;  // on embedding_ where tied
  int64_t planned_length_;
  mutable std::mutex ropes_mutex_;
  mutable std::vector<RopeTable> ropes_;  // grown to the longest sequence that was forwarded
  std::vector<std::unique_ptr<DecoderLayer>> layers_;
  bool is_frozen_;
  int64_t weights_version_ = 0;
  LoraConfig lora_config_;
  std::shared_ptr<LoraState> lora_state_;
  at::Tensor saved_embedding_;        // trained beside the adapters, in place of the frozen one
  std::optional<Linear> saved_head_;  // the same
  NamedTensors adapter_weights_;
  std::vector<at::Tensor> parameters_;
  NamedTensors named_weights_;
};

/// Turns a decoder's adapters off, where it has any, until the end of the scope.
class AdaptersOff {
 public:
  explicit AdaptersOff(const Decoder& decoder) : state_(decoder.lora_state()) {
    if (state_ != nullptr) state_->enabled = false;
  }
  ~AdaptersOff() {
    if (state_ != nullptr) state_->enabled = true;
  }
  AdaptersOff(const AdaptersOff&) = delete;
  AdaptersOff& operator=(const AdaptersOff&) = delete;

 private:
  LoraState* state_;
};

}  // namespace cohort
