#include "cohort/models/decoder_layer.h"

#include <cmath>

#include "cohort/ops/rms_norm.h"
#include "cohort/ops/swiglu.h"

namespace cohort {
namespace {

struct Part {
  const char* name;
  int64_t rows;
};

/// One leaf for projections that read the same input; `names` gets a view for each of them.
Linear make_linear(const std::string& prefix, const std::vector<Part>& parts, int64_t in_features, bool bias,
                   double deviation, at::ScalarType compute, const MakeParameter& make, NamedTensors& names) {
  int64_t out_features = 0;
  for (const Part& part : parts) out_features += part.rows;
  const at::Tensor weight = make({out_features, in_features}, 0.0, deviation);
  const at::Tensor bias_leaf = bias ? make({out_features}, 0.0, 0.0) : at::Tensor();
  int64_t row = 0;
  for (const Part& part : parts) {
    names.emplace_back(prefix + part.name + ".weight", weight.detach().narrow(0, row, part.rows));
    if (bias) names.emplace_back(prefix + part.name + ".bias", bias_leaf.detach().narrow(0, row, part.rows));
    row += part.rows;
  }
  return Linear(weight, bias_leaf, compute);
}

}  // namespace

DecoderLayer::DecoderLayer(const DecoderConfig& config, int64_t index, at::ScalarType compute,
                           const MakeParameter& make, NamedTensors& names)
    : config_(config), index_(index) {
  const std::string prefix = "model.layers." + std::to_string(index) + ".";
  const int64_t hidden = config.hidden_size, dim = config.head_dim;
  const int64_t q_rows = config.num_attention_heads * dim, kv_rows = config.num_key_value_heads * dim;
  const auto norm = [&](const char* name, int64_t size) {
    const at::Tensor weight = make({size}, 1.0, 0.0);
    names.emplace_back(prefix + name + ".weight", weight.detach());
    return weight;
  };
  const auto linear = [&](const char* group, const std::vector<Part>& parts, int64_t in_features, bool bias) {
    return make_linear(prefix + group, parts, in_features, bias, config.initializer_range, compute, make,
                       names);
  };
  input_norm_ = norm("input_layernorm", hidden);
  qkv_ = linear("self_attn.", {{"q_proj", q_rows}, {"k_proj", kv_rows}, {"v_proj", kv_rows}}, hidden,
                config.qkv_bias);
  if (config.qk_norm) {
    q_norm_ = norm("self_attn.q_norm", dim);
    k_norm_ = norm("self_attn.k_norm", dim);
  }
  output_ = linear("self_attn.", {{"o_proj", hidden}}, q_rows, config.output_bias);
  post_attention_norm_ = norm("post_attention_layernorm", hidden);
  const int64_t intermediate = config.intermediate_size;
  gate_up_ =
      linear("mlp.", {{"gate_proj", intermediate}, {"up_proj", intermediate}}, hidden, config.mlp_bias);
  down_ = linear("mlp.", {{"down_proj", hidden}}, intermediate, config.mlp_bias);
}

at::Tensor DecoderLayer::forward(const at::Tensor& x, const DecoderInput& input,
                                 const RopeTable& rope) const {
  const QkvShape shape{config_.num_attention_heads, config_.num_key_value_heads, config_.head_dim};
  const at::Tensor qkv = qkv_.forward(rms_norm(x, input_norm_, config_.rms_norm_eps));
  QkvHeads heads = qkv_heads(qkv, shape, q_norm_, k_norm_, config_.rms_norm_eps, rope, input.positions);
  if (input.cache != nullptr) {
    input.cache->write(index_, input.cache_rows, heads.k, heads.v);
    heads.k = input.cache->keys(index_);
    heads.v = input.cache->values(index_);
  }
  const double scale = 1.0 / std::sqrt(static_cast<double>(config_.head_dim));
  const at::Tensor attended = attend(heads.q, heads.k, heads.v, input.plan, scale);
  const at::Tensor middle = x + output_.forward(attended.flatten(1));
  const at::Tensor normed = rms_norm(middle, post_attention_norm_, config_.rms_norm_eps);
  return middle + down_.forward(swiglu(gate_up_.forward(normed)));
}

void DecoderLayer::refresh() {
  for (Linear* linear : {&qkv_, &output_, &gate_up_, &down_}) linear->repack();
}

}  // namespace cohort
