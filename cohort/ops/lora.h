// Low-rank adapters (LoRA, arXiv:2106.09685; rsLoRA, arXiv:2312.03732; DoRA, arXiv:2402.09353) on the
// projections of a Linear whose own weight is frozen.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cohort/ops/linear.h"

namespace cohort {

/// The adapter of the outputs [row, row + rows) of a Linear: scale * B A, and in DoRA the length of each
/// output's weight. Its leaves are float32 (float64 in tests).
struct LoraPart {
  std::string name = {};  ///< of the adapted module
  int64_t row = 0;
  int64_t rows = 0;
  at::Tensor a = {};          ///< [r, in]
  at::Tensor b = {};          ///< [rows, r]
  at::Tensor magnitude = {};  ///< [rows], or undefined: no DoRA
  double scale = 1.0;
  uint64_t id = 0;  ///< of the module among those of the model: addresses its dropout
};

class Lora {
 public:
  explicit Lora(std::vector<LoraPart> parts);

  bool has_magnitudes() const;
  const std::vector<LoraPart>& parts() const { return parts_; }

  /// The same adapters, which later changes of the leaves don't reach; see Linear::frozen_copy.
  Lora frozen_copy() const;

  /// Brings what depends on the leaves and on `weight` [out, in], the frozen base, up to date. The base is
  /// read where has_magnitudes() alone.
  void repack(const at::Tensor& weight);

  /// Turns `base` [N, out] = x W^T, without bias where has_magnitudes(), into what the adapted projection
  /// gives: base + scale * B A x, or in DoRA magnitude / |W + scale B A| * (that) + bias. A row's result
  /// depends on no other row, as in Linear. `dropout` acts on x; null: none. Throws InternalError if it has
  /// more rows than x.
  void add_to(at::Tensor& base, const at::Tensor& x, const at::Tensor& bias,
              const AdapterDropout* dropout) const;

  struct Gradients {
    at::Tensor base;  ///< [N, out]: of x W^T
    at::Tensor x;     ///< [N, in] float32: through the adapters
  };

  /// Adds to the gradients of the leaves. `base` as in add_to, needed where has_magnitudes(). Where the
  /// weight is measured in DoRA, the length counts as a constant (section 4.3). `dropout` as in the forward.
  Gradients backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& base,
                     const AdapterDropout* dropout) const;

 private:
  struct Packed {
    Linear a, b;
    at::Tensor gain;  // [rows]: magnitude / |W + scale B A|; undefined without DoRA
  };

  std::vector<LoraPart> parts_;
  std::vector<Packed> packed_;
};

/// The length of each row of `weight` + scale b a: [rows], in float64 sums of a fixed order.
at::Tensor adapted_row_norms(const at::Tensor& weight, const LoraPart& part, const Linear& b);

}  // namespace cohort
