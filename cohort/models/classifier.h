// Scores of sequences and tokens under a classification head: what reward models are.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <span>
#include <vector>

#include "cohort/models/decoder.h"

namespace cohort {

/// Sequences laid out for one forward pass, of which some begin with the same tokens: those stand there once.
/// A row's result does not depend on the layout.
class PackedSequences {
 public:
  /// The sequences added from here on begin with `prefix`, which may be empty.
  void begin_group(std::span<const int32_t> prefix);

  /// Adds the sequence of the group's prefix and `ids`; returns its number, counted from 0.
  int64_t add(std::span<const int32_t> ids);

  /// The row of a sequence's token.
  int64_t row(int64_t sequence, int64_t position) const;

  /// Tokens of a sequence, the prefix included.
  int64_t length(int64_t sequence) const;

  int64_t num_rows() const { return static_cast<int64_t>(token_ids_.size()); }

  /// The row at which transformers' sequence classification scores: that of the last token that is not the
  /// pad token; of the first one where all are. Throws InternalError for a sequence without tokens.
  int64_t pooled_row(int64_t sequence, const DecoderConfig& config) const;

  /// [rows, num_labels] float32: the head's scores of these rows. Gradient to all weights where gradients are
  /// on; then this must stay where it is, and score nothing else, until the backward is done.
  at::Tensor scores(const Decoder& decoder, const std::vector<int64_t>& rows, bool recompute = false);

 private:
  struct Sequence {
    RowRange prefix, own;
  };

  RowRange append(std::span<const int32_t> ids, int64_t first_position);

  std::vector<int64_t> token_ids_, positions_;
  std::vector<Sequence> sequences_;
  RowRange prefix_{0, 0};
  DecoderInput input_;
};

/// [sequences, num_labels] float32, without gradient: the scores at each sequence's last token that is not
/// the pad token, as transformers takes it. Throws InternalError when the model has no
/// ForSequenceClassification head or a sequence is empty.
at::Tensor sequence_scores(const Decoder& decoder, const std::vector<std::vector<int32_t>>& sequences);

/// [tokens of all sequences, num_labels] float32: the scores of every token; otherwise the same, of a
/// ForTokenClassification head.
at::Tensor token_scores(const Decoder& decoder, const std::vector<std::vector<int32_t>>& sequences);

}  // namespace cohort
