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

/// What the adapters of a model share.
struct LoraState {
  bool enabled = true;   ///< off: the base model alone
  double dropout = 0.0;  ///< probability that an element of an adapter's input is left out
  uint64_t dropout_seed = 0;
  uint64_t dropout_step = 0;
  std::vector<uint64_t> dropout_rows;  ///< of the forward's rows: which sequence and position they are
};

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
  Lora(std::vector<LoraPart> parts, std::shared_ptr<const LoraState> state);

  bool is_enabled() const { return state_->enabled; }
  bool has_magnitudes() const;
  bool draws_dropout() const { return state_->dropout > 0.0; }
  const std::vector<LoraPart>& parts() const { return parts_; }

  /// Brings what depends on the leaves and on `weight` [out, in], the frozen base, up to date. The base is
  /// read where has_magnitudes() alone.
  void repack(const at::Tensor& weight);

  /// Turns `base` [N, out] = x W^T, without bias where has_magnitudes(), into what the adapted projection
  /// gives: base + scale * B A x, or in DoRA magnitude / |W + scale B A| * (that) + bias. A product and a sum
  /// of single elements: exact in any company, as Linear is.
  void add_to(at::Tensor& base, const at::Tensor& x, const at::Tensor& bias) const;

  struct Gradients {
    at::Tensor base;  ///< [N, out]: of x W^T
    at::Tensor x;     ///< [N, in] float32: through the adapters
  };

  /// Adds to the gradients of the leaves. `base` as in add_to, needed where has_magnitudes(). Where the
  /// weight is measured in DoRA, the length counts as a constant (section 4.3).
  Gradients backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& base) const;

 private:
  struct Packed {
    Linear a, b;
    at::Tensor gain;  // [rows]: magnitude / |W + scale B A|; undefined without DoRA
  };

  at::Tensor dropped(const at::Tensor& x, const LoraPart& part) const;
  at::Tensor dropout_factors(const LoraPart& part, int64_t num_rows, int64_t width) const;

  std::vector<LoraPart> parts_;
  std::vector<Packed> packed_;
  std::shared_ptr<const LoraState> state_;
};

/// The length of each row of `weight` + scale b a: [rows], in float64 sums of a fixed order.
at::Tensor adapted_row_norms(const at::Tensor& weight, const LoraPart& part, const Linear& b);

}  // namespace cohort
