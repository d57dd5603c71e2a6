// One layer: attention and gated MLP, each behind a norm and added to its input.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <functional>

#include "cohort/models/decoder.h"

namespace cohort {

/// Makes a master leaf of the given sizes, filled with its initial values.
using MakeParameter = std::function<at::Tensor(at::IntArrayRef sizes, double mean, double deviation)>;

class DecoderLayer {
 public:
  /// Makes its leaves through `make` and names their views in `names`.
  DecoderLayer(const DecoderConfig& config, int64_t index, at::ScalarType compute, const MakeParameter& make,
               NamedTensors& names);

  /// `x` [N, H] -> [N, H].
  at::Tensor forward(const at::Tensor& x, const DecoderInput& input, const RopeTable& rope) const;

  void refresh();

 private:
  const DecoderConfig& config_;
  int64_t index_;
  at::Tensor input_norm_, post_attention_norm_;  // [H]
  at::Tensor q_norm_, k_norm_;                   // [head_dim], undefined without qk_norm
  Linear qkv_, output_, gate_up_, down_;
};

}  // namespace cohort
