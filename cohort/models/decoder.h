// The decoder of all model families. Sampler and trainer share its forward pass.
// Legend: N rows of a packed batch, R result rows among them, H hidden_size, V vocab_size.
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

/// The rows of a pass whose results are read, if these are not all rows.
struct ResultRows {
  std::vector<RowRange> rows;  ///< ascending
  AttentionPlan plan;          ///< of these rows only, in this order
};

/// The rows of one forward pass. Must stay alive until the backward pass ends.
struct DecoderInput {
  /// Sets token_ids and positions, for a decoder on this device.
  void set_rows(const std::vector<int64_t>& token_ids, const std::vector<int64_t>& positions,
                at::Device device);

  /// Limits the rows of `plan` whose results are read to `rows`, ascending. The last layer computes only
  /// queries, keys and values for the other rows.
  void set_result_rows(std::vector<RowRange> rows);

  /// The places of this pass's rows in a record: `all`, and the places of the result rows among them. The
  /// result rows must be set.
  RecordRows in_record(std::vector<RowRange> all) const;

  at::Tensor token_ids;               ///< [N] int64
  at::Tensor positions;               ///< [N] int64
  AttentionPlan plan;                 ///< key rows are rows of this batch, or of the cache that `store` has
  std::optional<ResultRows> results;  ///< none: the results of all rows are read
  /// What the layers find stored and leave behind; by default nothing.
  std::shared_ptr<LayerStore> store = std::make_shared<LayerStore>();
  AdapterUse adapters;     ///< whether the adapters are on, and their dropout
  bool recompute = false;  ///< keep only each layer's input, and forward the layer again in the backward pass
  RouterBalance* balance = nullptr;  ///< if set, adds the balance loss of mixtures of experts (moe.h)
};

class DecoderLayer;
struct LinearModule;
struct LayerProduct;

/// Creates a master weight (a leaf tensor) of these sizes with its initial values.
using MakeParameter = std::function<at::Tensor(at::IntArrayRef sizes, double mean, double deviation)>;

class Decoder {
 public:
  /// Initializes weights by `seed` alone: normal with initializer_range, norms 1 (offset included), biases 0.
  /// Without a seed, the weights are not set and the caller sets all of them. `compute` is float32 or
  /// bfloat16 (masters are float32), or float64 in tests. On the meta device, the decoder has only names and
  /// shapes. A frozen decoder has weights in the compute dtype, and no parameters until it is adapted.
  Decoder(DecoderConfig config, at::ScalarType compute, at::Device device, std::optional<uint64_t> seed = 0,
          bool is_frozen = false);
  ~Decoder();
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  /// Sets the longest sequence of the run. It decides the frequencies of dynamic and longrope RoPE. Without a
  /// call it is the model's max_position_embeddings.
  void plan_length(int64_t longest_sequence);

  /// The result rows after the last layer and before the final norm: [R, H] in the compute dtype, with
  /// gradient to all weights if gradients are on. Threads may call it at the same time.
  at::Tensor forward(const DecoderInput& input) const;

  /// The head's input: the final norm of the rows `rows` (int64) of `hidden`.
  at::Tensor head_input(const at::Tensor& hidden, const at::Tensor& rows) const;

  /// Adds low-rank adapters to a frozen decoder whose weights are set: A is random by `seed`, B is zero.
  /// Throws ConfigError if a setting fits no module of the model.
  void adapt(const LoraConfig& config, uint64_t seed);

  /// A decoder with the weights as they are now, which later changes don't reach. Its passes give the same
  /// bits and carry no gradient; it has no parameters, and its named_weights() have only sizes. Shares the
  /// packed weights with this decoder until the next refresh() and copies the rest: embeddings (in the
  /// compute dtype), norms, biases.
  std::shared_ptr<const Decoder> copy_frozen() const;

  /// A frozen decoder with the same weights, to be adapted on its own. The weights are shared, so that it
  /// takes little memory. Throws InternalError unless this decoder is frozen and not adapted.
  std::unique_ptr<Decoder> share_frozen() const;

  /// True if the weights are in the compute dtype and have no gradients.
  bool is_frozen() const { return is_frozen_; }

  /// True after adapt(): the decoder trains adapters.
  bool is_adapted() const { return is_adapted_; }
  const LoraConfig& lora_config() const { return lora_config_; }

  /// The head that a pass with this use of the adapters reads.
  const Linear& head(const AdapterUse& use = {}) const {
    return saved_head_ && use.enabled ? *saved_head_ : head_;
  }
  const DecoderConfig& config() const { return config_; }

  /// The layers' matrix products in the order of a pass, including those of experts.
  std::vector<LayerProduct> layer_products() const;

  at::ScalarType compute_dtype() const { return compute_; }
  at::Device device() const { return embedding_.device(); }

  /// Device and compute dtype.
  at::TensorOptions options() const { return at::TensorOptions(device()).dtype(compute_); }

  /// The trained leaf tensors: the adapters' if there are adapters, else all weights. Projections that read
  /// the same input are one tensor (q | k | v, gate | up).
  const std::vector<at::Tensor>& parameters() const { return parameters_; }

  /// Views of the master weights by Hugging Face name, in the order of the layers. Those of projections have
  /// only sizes where a process has no whole master of them: once refresh() has packed a frozen decoder, and
  /// where several processes share out the masters.
  const NamedTensors& named_weights() const { return named_weights_; }

  /// For each of parameters() the projection that alone reads it, from a packed copy, or null.
  std::vector<Linear*> packed_projections();

  /// The number of elements of their weights.
  int64_t num_packed() const;

  /// The weights by Hugging Face name, in the compute dtype, on the CPU; copies or views. Without adapters.
  NamedTensors rounded_weights() const;

  /// Views of the adapters' weights by PEFT name; empty without adapters.
  const NamedTensors& adapter_weights() const { return adapter_weights_; }

  /// The number of parameters of the model without its adapters.
  int64_t num_parameters() const;

  /// The weights that a run changes: the adapters if there are adapters, else all weights.
  const NamedTensors& trained_weights() const { return is_adapted_ ? adapter_weights_ : named_weights_; }

  /// True if splitting one product across threads costs more than it saves, so that each thread forwards rows
  /// of its own. Only on CPU kernels.
  bool is_small() const;

  /// The same for the sampler, with a larger limit: its threads need no memory for gradients and activations.
  bool is_small_to_sample() const;

  /// The number of elements of parameters().
  int64_t num_trained() const;

  /// Updates the packed compute copies after the master weights changed.
  void refresh();

  /// Changes when the results of a pass do: with refresh(), and with the frequencies that plan_length()
  /// decides.
  int64_t weights_version() const { return weights_version_; }

 private:
  /// See copy_frozen().
  struct FrozenCopyOf {
    const Decoder& decoder;
  };
  explicit Decoder(FrozenCopyOf from);

  bool has_own_head() const { return config_.head == HeadKind::kCausalLm && !config_.tie_word_embeddings; }
  bool suits_rows_per_thread(int64_t most_parameters) const;

  at::Tensor embed(const at::Tensor& token_ids, const AdapterUse& use) const;
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
  Linear head_;  // uses embedding_ if the weights are tied
  int64_t planned_length_;
  mutable std::mutex ropes_mutex_;
  mutable std::vector<RopeTable> ropes_;  // cover the longest sequence that was forwarded
  std::vector<std::unique_ptr<DecoderLayer>> layers_;
  bool is_frozen_;
  int64_t weights_version_ = 0;
  LoraConfig lora_config_;
  bool is_adapted_ = false;
  at::Tensor saved_embedding_;        // trained with the adapters, replaces the frozen one
  std::optional<Linear> saved_head_;  // trained with the adapters, replaces the frozen one
  NamedTensors adapter_weights_;
  std::vector<at::Tensor> parameters_;
  NamedTensors named_weights_;
};

}  // namespace cohort
