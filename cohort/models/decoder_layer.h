// One layer: attention, and a gated MLP or a mixture of such, each behind a norm and added to its input.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cohort/models/decoder.h"
#include "cohort/ops/moe.h"
#include "cohort/ops/rms_norm.h"

namespace cohort {

/// The rows [row, row + rows) of a Linear's outputs, which are a module of their own on disk.
struct LinearModule {
  std::string name;
  Linear* linear;
  int64_t row;
  int64_t rows;
};

/// A matrix that a pass multiplies rows by; lives as long as the decoder.
struct LayerProduct {
  const Linear* linear;
  bool of_results = false;  ///< of the result rows alone
  int64_t expert = 0, num_experts = 1, experts_per_token = 1;

  /// Of a pass of so many, if experts were chosen evenly.
  int64_t rows(int64_t of_pass, int64_t results) const {
    const int64_t chosen = (of_results ? results : of_pass) * experts_per_token;
    return chosen * (expert + 1) / num_experts - chosen * expert / num_experts;
  }
};

class DecoderLayer {
 public:
  /// Makes its leaves through `make` and names their views in `names`.
  DecoderLayer(const DecoderConfig& config, int64_t index, at::ScalarType compute, const MakeParameter& make,
               NamedTensors& names);

  /// `x` [N, H] -> [N, H], of the last layer [R, H] of the result rows.
  at::Tensor forward(const at::Tensor& x, const DecoderInput& input, const RopeTable& rope) const;

  void refresh();

  /// The same layer for a decoder with this config, which later changes of the weights don't reach. Carries
  /// no gradient.
  DecoderLayer frozen_copy(const DecoderConfig& config) const;

  /// The projections that may be adapted: attention and MLP, but not router and experts.
  std::vector<LinearModule> modules();

  /// In the order of a pass.
  std::vector<LayerProduct> products() const;

  /// The same ones.
  std::vector<Linear*> linears();

 private:
  bool is_last() const { return index_ + 1 == config_->num_hidden_layers; }

  /// The rows that it gives; null: all.
  const ResultRows* results_of(const DecoderInput& input) const;

  /// The rows that it makes more of than queries, keys and values; null: all.
  const ResultRows* made_rows(const DecoderInput& input) const;

  /// Rows `x`, from before the norm, and what is made of them; what is not known yet is computed.
  at::Tensor attention(const at::Tensor& x, const DecoderInput& input, const RopeTable& rope,
                       LayerActivations& known) const;
  at::Tensor mlp(const at::Tensor& x, const AdapterUse& use, LayerActivations& known) const;
  at::Tensor experts(const at::Tensor& x, RouterBalance* balance) const;

  /// The result of forward, from what is stored of the layer.
  at::Tensor stored(const at::Tensor& x, const DecoderInput& input) const;

  const DecoderConfig* config_;  // the decoder's
  int64_t index_;
  RmsNorm attention_norm_, post_attention_norm_, mlp_norm_, post_mlp_norm_;  // the second ones may be none
  RmsNorm q_norm_, k_norm_;                                                  // may be none
  Linear qkv_, output_;
  Linear gate_up_, down_;  // or, in a layer with experts:
  Linear router_;
  std::vector<Expert> experts_;
};

}  // namespace cohort
