// Between padded rows, as Python has them, and packed tokens, as the objectives take them. Legend: N
// completions of T places each, M places whose mask is 1: the tokens with loss, those of a completion behind
// those of the one before. A mask may have gaps.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

namespace cohort::python {

class Packing {
 public:
  /// `mask` [N, T] of any dtype. Throws UserError where a value is neither 0 nor 1.
  explicit Packing(const at::Tensor& mask);

  /// Row i has loss on its first lengths[i] places of `num_places`.
  static Packing of_lengths(const std::vector<int64_t>& lengths, int64_t num_places);

  int64_t num_rows() const { return num_rows_; }
  int64_t num_places() const { return num_places_; }
  int64_t num_tokens() const { return places_.size(0); }
  const std::vector<int64_t>& lengths() const { return lengths_; }

  /// How many tokens each run of ones has, row after row: the turns of rows whose gaps are tool results.
  std::vector<int64_t> run_lengths() const;

  /// [N, T] -> [M]; gradient flows, and is 0 where the mask is.
  at::Tensor pack(const at::Tensor& padded) const;

  /// [M] -> [N, T] with 0 where the mask is 0.
  at::Tensor unpack(const at::Tensor& packed) const;

  /// Places [N, K] in rows -> indices among the row's own tokens: of the last token at or before the place, 0
  /// in rows without tokens, -1 where the place is -1. Throws UserError for a place before the row's first
  /// token.
  at::Tensor token_indices(const at::Tensor& row_places, const char* what) const;

 private:
  int64_t num_rows_;
  int64_t num_places_;
  at::Tensor mask_;    ///< [N, T] bool
  at::Tensor places_;  ///< [M] int64 into the flattened rows
  std::vector<int64_t> lengths_;
};

}  // namespace cohort::python
