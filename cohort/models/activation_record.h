// Keeps the activations that the sampler computed, so that an update with the same weights reads them instead
// of computing them again. Sampler and trainer compute the same bits, so that results do not change.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "cohort/models/decoder_config.h"
#include "cohort/models/layer_store.h"
#include "cohort/ops/adapter_use.h"
#include "cohort/ops/row_range.h"

namespace cohort {

class Decoder;

/// The places of a pass's rows in a record.
struct RecordRows {
  std::vector<RowRange> all;
  std::vector<RowRange> results;  ///< the rows whose results are read (DecoderInput); the last layer
                                  ///< computes only `qkv` for the other rows
};

/// The places of a prompt and of one completion of it in a record: those of their first tokens.
struct RecordedRows {
  int64_t prompt = 0;
  int64_t completion = 0;
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

  /// Reserves places for a completion of up to `longest` tokens, and for its prompt if it is the first one of
  /// it. The completions of a prompt lie after it in the order of the calls, which is how an update reads
  /// them. There must be room.
  RecordedRows reserve(const std::vector<int32_t>& prompt_ids, int64_t longest);

  /// Notes that the rows of a completion, without its last token, have been written to these places.
  void add(const std::vector<int32_t>& prompt_ids, const std::vector<int32_t>& completion_ids,
           RecordedRows rows);

  /// The places of a completion that was added. Completions of the same tokens have the same activations, so
  /// that the tokens alone say which they are.
  std::optional<RecordedRows> find(const std::vector<int32_t>& prompt_ids,
                                   const std::vector<int32_t>& completion_ids) const;

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
  struct RecordedPrompt {
    int64_t row;
    std::map<std::vector<int32_t>, int64_t> completions{};  // tokens -> first row, of those that were added
  };

  /// The rows that a layer's parts after `qkv` have.
  const std::vector<RowRange>& behind_qkv(int64_t layer, const RecordRows& rows) const;

  RecordedParts parts_;
  const Decoder* decoder_ = nullptr;
  int64_t weights_version_ = 0;
  int64_t num_rows_ = 0, num_taken_ = 0;
  std::vector<LayerActivations> layers_;
  std::map<std::vector<int32_t>, RecordedPrompt> prompts_;  // by the prompt's tokens
};

/// The store of a pass that writes its activations to these places of a record, which must outlive this.
class WrittenLayers : public LayerStore {
 public:
  WrittenLayers(ActivationRecord& record, RecordRows rows) : record_(record), rows_(std::move(rows)) {}

  void keep(int64_t layer, const LayerActivations& made) override { record_.write(layer, rows_, made); }
  const RecordRows& rows() const { return rows_; }

 private:
  ActivationRecord& record_;
  RecordRows rows_;
};

/// The store of a pass that reads its activations from these places of a record, which must outlive this.
class RecordedLayers : public LayerStore {
 public:
  RecordedLayers(const ActivationRecord& record, RecordRows rows) : record_(record), rows_(std::move(rows)) {}

  bool has_outputs() const override { return record_.parts() == RecordedParts::kAll; }
  LayerActivations known(int64_t layer) const override { return record_.read(layer, rows_); }
  at::Tensor output(int64_t layer) const override { return record_.read_output(layer, rows_); }
  at::Tensor down(int64_t layer) const override { return record_.read_down(layer, rows_); }
  const RecordRows& rows() const { return rows_; }

 private:
  const ActivationRecord& record_;
  RecordRows rows_;
};

}  // namespace cohort
