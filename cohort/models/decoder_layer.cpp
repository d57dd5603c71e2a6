#include "cohort/models/decoder_layer.h"

#include <algorithm>

#include "cohort/ops/gated_activation.h"

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
  return Linear::without_values(weight, bias_leaf, compute, /*owns_weight=*/true);
}

/// What a projection adds to: the layer's rows, unless its own go through a norm before.
std::optional<at::Tensor> residual_of(const at::Tensor& x, const RmsNorm& norm) {
  return norm.defined() ? std::nullopt : std::optional(x);
}

at::Tensor rows_of(const at::Tensor& x, const ResultRows* results) {
  return results != nullptr ? rows_in(x, results->rows) : x;
}

/// The sum of `x` and a projection's rows, which has been made where there is no norm.
at::Tensor sum(const at::Tensor& x, const at::Tensor& projected, const RmsNorm& norm) {
  return norm.defined() ? x + rms_norm(projected, norm) : projected;
}

}  // namespace

DecoderLayer::DecoderLayer(const DecoderConfig& config, int64_t index, at::ScalarType compute,
                           const MakeParameter& make, NamedTensors& names)
    : config_(&config), index_(index) {
  const std::string prefix = "model.layers." + std::to_string(index) + ".";
  const int64_t hidden = config.hidden_size, dim = config.head_dim;
  const int64_t q_rows = config.num_attention_heads * dim, kv_rows = config.num_key_value_heads * dim;
  const auto norm = [&](const char* name, int64_t size) {
    if (name == nullptr) return RmsNorm{};
    const at::Tensor weight = make({size}, 1.0 - config.norm_offset, 0.0);
    names.emplace_back(prefix + name + ".weight", weight.detach());
    return RmsNorm{weight, config.rms_norm_eps, config.norm_offset};
  };
  const auto linear = [&](const std::string& group, const std::vector<Part>& parts, int64_t in_features,
                          bool bias) {
    return make_linear(prefix + group, parts, in_features, bias, config.initializer_range, compute, make,
                       names);
  };
  attention_norm_ = norm(config.names.attention_norm, hidden);
  qkv_ = linear("self_attn.", {{"q_proj", q_rows}, {"k_proj", kv_rows}, {"v_proj", kv_rows}}, hidden,
                config.qkv_bias);
  if (config.qk_norm) {
    q_norm_ = norm("self_attn.q_norm", dim);
    k_norm_ = norm("self_attn.k_norm", dim);
  }
  output_ = linear("self_attn.", {{"o_proj", hidden}}, q_rows, config.output_bias);
  post_attention_norm_ = norm(config.names.post_attention_norm, hidden);
  mlp_norm_ = norm(config.names.mlp_norm, hidden);
  if (config.layers[index].has_experts) {
    router_ = linear("", {{config.names.router, config.num_experts}}, hidden, false);
    const int64_t inner = config.moe_intermediate_size;
    for (int64_t e = 0; e < config.num_experts; ++e) {
      const std::string expert = config.names.experts + std::to_string(e) + ".";
      const std::vector<Part> gate_up{{config.names.expert_gate, inner}, {config.names.expert_up, inner}};
      experts_.push_back({linear(expert, gate_up, hidden, false),
                          linear(expert, {{config.names.expert_down, hidden}}, inner, false)});
    }
  } else {
    const int64_t inner = config.intermediate_size;
    gate_up_ = linear("mlp.", {{"gate_proj", inner}, {"up_proj", inner}}, hidden, config.mlp_bias);
    down_ = linear("mlp.", {{"down_proj", hidden}}, inner, config.mlp_bias);
  }
  post_mlp_norm_ = norm(config.names.post_mlp_norm, hidden);
}

DecoderLayer DecoderLayer::frozen_copy(const DecoderConfig& config) const {
  DecoderLayer copy = *this;
  copy.config_ = &config;
  for (RmsNorm* norm : {&copy.attention_norm_, &copy.post_attention_norm_, &copy.mlp_norm_,
                        &copy.post_mlp_norm_, &copy.q_norm_, &copy.k_norm_})
    *norm = norm->frozen_copy();
  std::vector<Linear*> linears{&copy.qkv_, &copy.output_};
  if (experts_.empty()) {
    linears.insert(linears.end(), {&copy.gate_up_, &copy.down_});
  } else {
    linears.push_back(&copy.router_);
    for (Expert& expert : copy.experts_) linears.insert(linears.end(), {&expert.gate_up, &expert.down});
  }
  for (Linear* linear : linears) *linear = linear->frozen_copy();
  return copy;
}

const ResultRows* DecoderLayer::results_of(const DecoderInput& input) const {
  return is_last() && input.results ? &*input.results : nullptr;
}

const ResultRows* DecoderLayer::made_rows(const DecoderInput& input) const {
  // Unread rows count in the balance of experts, too, and dropout has an address for each row of the pass.
  const bool is_balanced = !experts_.empty() && input.balance != nullptr;
  return is_balanced || input.adapters.dropout != nullptr ? nullptr : results_of(input);
}

at::Tensor DecoderLayer::attention(const at::Tensor& x, const DecoderInput& input, const RopeTable& rope,
                                   LayerActivations& known) const {
  const QkvShape shape{config_->num_attention_heads, config_->num_key_value_heads, config_->head_dim};
  known.qkv = qkv_.forward(x, normed_input(attention_norm_), input.adapters, {}, known.qkv);
  const QkvHeads heads = qkv_heads(known.qkv, shape, q_norm_, k_norm_, rope, input.positions);
  const AttentionOptions options{.scale = config_->attention_scale,
                                 .window = config_->layers[index_].window,
                                 .softcap = config_->attention_softcap};
  const ResultRows* own = made_rows(input);
  const at::Tensor q = rows_of(heads.q, own), residual = rows_of(x, own);
  const AttentionPlan& plan = own != nullptr ? own->plan : input.plan;
  known.attended = input.store->attend(index_, q, {heads.k, heads.v}, plan, options, known.attended);
  known.output = output_.forward(known.attended.rows.flatten(1), InputOp(), input.adapters,
                                 residual_of(residual, post_attention_norm_), known.output);
  return sum(residual, known.output, post_attention_norm_);
}

at::Tensor DecoderLayer::mlp(const at::Tensor& x, const AdapterUse& use, LayerActivations& known) const {
  known.gate_up = gate_up_.forward(x, normed_input(mlp_norm_), use, {}, known.gate_up);
  known.down = down_.forward(known.gate_up, gated_input(config_->activation), use,
                             residual_of(x, post_mlp_norm_), known.down);
  return sum(x, known.down, post_mlp_norm_);
}

at::Tensor DecoderLayer::experts(const at::Tensor& x, RouterBalance* balance) const {
  const MoeOptions options{.num_experts_per_tok = config_->num_experts_per_tok,
                           .norm_topk_prob = config_->norm_topk_prob,
                           .activation = config_->activation};
  const at::Tensor rows = moe(rms_norm(x, mlp_norm_), router_, experts_, options, balance);
  return x + (post_mlp_norm_.defined() ? rms_norm(rows, post_mlp_norm_) : rows);
}

at::Tensor DecoderLayer::stored(const at::Tensor& x, const DecoderInput& input) const {
  at::Tensor down = input.store->down(index_);
  if (!post_mlp_norm_.defined()) return down;
  const at::Tensor output = input.store->output(index_);
  return sum(sum(rows_of(x, results_of(input)), output, post_attention_norm_), down, post_mlp_norm_);
}

at::Tensor DecoderLayer::forward(const at::Tensor& x, const DecoderInput& input,
                                 const RopeTable& rope) const {
  if (input.store->has_outputs() && !at::GradMode::is_enabled()) return stored(x, input);
  LayerActivations known = input.store->known(index_);
  const at::Tensor attended = attention(x, input, rope, known);
  const at::Tensor result =
      experts_.empty() ? mlp(attended, input.adapters, known) : experts(attended, input.balance);
  input.store->keep(index_, known);
  return made_rows(input) != nullptr ? result : rows_of(result, results_of(input));
}

std::vector<LinearModule> DecoderLayer::modules() {
  const std::string prefix = "model.layers." + std::to_string(index_) + ".";
  const int64_t hidden = config_->hidden_size, inner = config_->intermediate_size;
  const int64_t q = config_->num_attention_heads * config_->head_dim,
                kv = config_->num_key_value_heads * config_->head_dim;
  std::vector<LinearModule> modules{{prefix + "self_attn.q_proj", &qkv_, 0, q},
                                    {prefix + "self_attn.k_proj", &qkv_, q, kv},
                                    {prefix + "self_attn.v_proj", &qkv_, q + kv, kv},
                                    {prefix + "self_attn.o_proj", &output_, 0, hidden}};
  if (!experts_.empty()) return modules;
  modules.insert(modules.end(), {{prefix + "mlp.gate_proj", &gate_up_, 0, inner},
                                 {prefix + "mlp.up_proj", &gate_up_, inner, inner},
                                 {prefix + "mlp.down_proj", &down_, 0, hidden}});
  return modules;
}

std::vector<LayerProduct> DecoderLayer::products() const {
  std::vector<LayerProduct> products{{&qkv_}, {&output_, is_last()}};
  for (const Linear* linear : experts_.empty() ? std::vector{&gate_up_, &down_} : std::vector{&router_})
    products.push_back({linear, is_last()});
  const auto count = static_cast<int64_t>(experts_.size());
  for (int64_t e = 0; e < count; ++e) {
    for (const Linear* linear : {&experts_[e].gate_up, &experts_[e].down}) {
      products.push_back({linear, is_last(), e, count, config_->num_experts_per_tok});
    }
  }
  return products;
}

std::vector<Linear*> DecoderLayer::linears() {
  std::vector<Linear*> linears{&qkv_, &output_};
  if (experts_.empty()) {
    linears.insert(linears.end(), {&gate_up_, &down_});
  } else {
    linears.push_back(&router_);
  }
  for (Expert& expert : experts_) linears.insert(linears.end(), {&expert.gate_up, &expert.down});
  return linears;
}

void DecoderLayer::refresh() {
  for (Linear* linear : linears()) linear->repack();
}

}  // namespace cohort
