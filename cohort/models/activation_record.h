// Keeps the activations that the sampler computed, so that an update with the same weights reads them instead
// of computing them again. Sampler and trainer compute the same bits, so that results do not change.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

#include "cohort/models/decoder_config.h"
#include "cohort/ops/adapter_use.h"
#include "cohort/ops/attention.h"

namespace cohort {

class Decoder;

/// The results of a layer's matrix products and attention for N rows. The layer computes everything else from
/// them again. In the last layer, the parts after `qkv` have only the result rows.
struct LayerActivations {
  at::Tensor qkv;      ///< [N, (num_heads + 2 num_kv_heads) head_dim] before norms and RoPE
  Attended attended;   ///< [N, num_heads, head_dim]
  at::Tensor output;   ///< [N, hidden_size] of the attention's output projection; the layer's input is added
                       ///< if no norm stands between
  at::Tensor gate_up;  ///< [N, 2 intermediate_size]
  at::Tensor down;     ///< [N, hidden_size] of the MLP's last projection; its input is added in the same case
};

/// The places of a pass's rows in a record.
struct RecordRows {
  std::vector<RowRange> all;
  std::vector<RowRange> results;  ///< the rows whose results are read (DecoderInput); the last layer
                                  ///< computes only `qkv` for the other rows

  bool empty() const { return all.empty(); }
};

/// The activations that are kept of every layer.
enum class RecordedParts {
  kAll,
  kDown,  ///< only `down`: it saves the most arithmetic per byte, because the MLP is not computed again
};

class ActivationRecord {
 public:
  explicit ActivationRecord(RecordedParts parts = RecordedParts::kAll) : parts_(parts) {}

  /// True if the activations of `decoder` can be kept: it runs on the CPU kernels (or on the meta device, for
  /// plans), without experts.
  static bool fits(const Decoder& decoder);

  /// Bytes of one row in all layers.
  static int64_t bytes_per_row(const DecoderConfig& config, at::ScalarType compute, RecordedParts parts);

  RecordedParts parts() const { return parts_; }

  /// Removes all rows and makes room for `num_rows` rows of `decoder` with its present weights. Memory is
  /// used only as rows are written.
  void begin(const Decoder& decoder, int64_t num_rows);

  /// True if there is room for `count` more rows.
  bool has_room(int64_t count) const { return num_taken_ + count <= num_rows_; }

  /// Reserves `count` more rows and returns the first of them. There must be room for them.
  int64_t take_rows(int64_t count);

  /// True if the record was written by `decoder` with its present weights, and a pass that uses its adapters
  /// so has the same results: with the adapters on and without dropout.
  bool holds_for(const Decoder& decoder, const AdapterUse& use = {}) const;

  /// Writes a layer's activations of a pass to `rows`: the parts that are kept and that `made` defines.
  /// Threads may write different rows at the same time.
  void write(int64_t layer, const RecordRows& rows, const LayerActivations& made);

  /// A layer's activations of these rows, one range after the other. Does not copy a single range. Parts that
  /// are not kept are undefined tensors.
  LayerActivations read(int64_t layer, const RecordRows& rows) const;

  /// The same for one part, which the record must keep.
  at::Tensor read_output(int64_t layer, const RecordRows& rows) const;
  at::Tensor read_down(int64_t layer, const RecordRows& rows) const;

  /// Compares all layers' activations of two row sets bit by bit, except log_sum_exp; true if they are equal.
  /// `other` keeps the same parts.
  bool has_same(const RecordRows& rows, const ActivationRecord& other, const RecordRows& other_rows) const;

 private:
  /// The rows that a layer's parts after `qkv` have.
  const std::vector<RowRange>& behind_qkv(int64_t layer, const RecordRows& rows) const;

  RecordedParts parts_;
  const Decoder* decoder_ = nullptr;
  int64_t weights_version_ = 0;
  int64_t num_rows_ = 0, num_taken_ = 0;
  std::vector<LayerActivations> layers_;
};

}  // namespace cohort
