// A model's matrix products without anything around them: the ceiling of its engine.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <map>
#include <vector>

#include "cohort/models/decoder.h"
#include "cohort/models/decoder_layer.h"

namespace cohort::cli {

/// What a pass of the engine multiplies.
struct Pass {
  int64_t rows;
  int64_t result_rows;   ///< of which the last layer's results are read
  int64_t head_rows;     ///< that the head makes logits of
  int64_t rows_at_once;  ///< more are cut into pieces of one size
  bool has_backward = false;
};

constexpr int64_t kPeakRows = 1024;

/// The decoder's own weights in the order of a pass, so that they come from the caches or from memory as they
/// do there, times random rows. Adds to the gradients of a pass with a backward. The decoder must stay alive.
class MatrixProducts {
 public:
  /// For passes like these.
  MatrixProducts(const Decoder& decoder, const std::vector<Pass>& passes);

  /// All products of a pass; returns when a device is done, too.
  void multiply(const Pass& pass) const;

  /// The largest matrix of a layer times kPeakRows rows, forward; returns its floating-point operations.
  double multiply_largest() const;

 private:
  void make_rows(const Linear& linear, int64_t rows, bool has_backward);
  at::Tensor input(const Linear& linear, int64_t rows) const;
  at::Tensor gradient(const Linear& linear, int64_t rows) const;
  int64_t head_rows_at_once() const;
  void multiply_piece(const Pass& piece) const;

  const Decoder& decoder_;
  std::vector<LayerProduct> layers_;
  std::map<int64_t, at::Tensor> random_;  // [rows, width] of each width
};

}  // namespace cohort::cli
