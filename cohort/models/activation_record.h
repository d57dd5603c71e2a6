// What the sampler computed of its rows, kept so that an update on the same weights does not compute it
// again: sampler and trainer agree in every bit.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

#include "cohort/models/decoder_config.h"
#include "cohort/ops/attention.h"

namespace cohort {

class Decoder;

/// What a layer's products and its attention give for N rows (the last layer behind `qkv` for the result
/// rows); everything else is made from these again.
struct LayerActivations {
  at::Tensor qkv;      ///< [N, (num_heads + 2 num_kv_heads) head_dim] before norms and rotation
  Attended attended;   ///< [N, num_heads, head_dim]
  at::Tensor output;   ///< [N, hidden_size] of the attention's output projection, added to the layer's input
                       ///< where no norm comes between
  at::Tensor gate_up;  ///< [N, 2 intermediate_size]
  at::Tensor down;     ///< [N, hidden_size] of the MLP's last projection; the same
};

/// Where a record has the rows of a pass.
struct RecordRows {
  std::vector<RowRange> all;
  std::vector<RowRange> results;  ///< the ones whose results are read (DecoderInput): of the others the last
                                  ///< layer makes no more than `qkv`

  bool empty() const { return all.empty(); }
};

/// What is kept of every layer.
enum class RecordedParts {
  kAll,
  kDown,  ///< `down` alone: most arithmetic per byte, since its inputs are the MLP's
};

class ActivationRecord {
 public:
  explicit ActivationRecord(RecordedParts parts = RecordedParts::kAll) : parts_(parts) {}

  /// Whether the passes of `decoder` can be kept: on the CPU's kernels (or the meta device, for plans),
  /// without experts and without dropout.
  static bool fits(const Decoder& decoder);

  /// Bytes that one row takes over all layers.
  static int64_t bytes_per_row(const DecoderConfig& config, at::ScalarType compute, RecordedParts parts);

  RecordedParts parts() const { return parts_; }

  /// Forgets all rows and makes room for `num_rows` of `decoder`, with its weights as they are now. Memory is
  /// taken as rows are written.
  void begin(const Decoder& decoder, int64_t num_rows);

  /// Whether there is room for `count` more rows.
  bool has_room(int64_t count) const { return num_taken_ + count <= num_rows_; }

  /// Takes `count` more rows, for which there must be room; the first of them.
  int64_t take_rows(int64_t count);

  /// Whether what was written is what `decoder` would compute now.
  bool holds_for(const Decoder& decoder) const;

  /// Writes what a layer made of a pass, of parts that are kept and where it is defined, to `rows`. Threads
  /// may write different rows side by side.
  void write(int64_t layer, const RecordRows& rows, const LayerActivations& made);

  /// What a layer made of these rows, one range behind the other; without a copy where it is one. Parts that
  /// are not kept are undefined.
  LayerActivations read(int64_t layer, const RecordRows& rows) const;

  /// Of that one part of a record of all.
  at::Tensor read_output(int64_t layer, const RecordRows& rows) const;
  at::Tensor read_down(int64_t layer, const RecordRows& rows) const;

  /// Whether all layers made the same of other rows of a record of the same parts, in every bit; log_sum_exp
  /// is not compared.
  bool has_same(const RecordRows& rows, const ActivationRecord& other, const RecordRows& other_rows) const;

 private:
  /// Where a layer has what comes behind its `qkv`.
  const std::vector<RowRange>& behind_qkv(int64_t layer, const RecordRows& rows) const;

  RecordedParts parts_;
  const Decoder* decoder_ = nullptr;
  int64_t weights_version_ = 0;
  int64_t num_rows_ = 0, num_taken_ = 0;
  std::vector<LayerActivations> layers_;
};

}  // namespace cohort
