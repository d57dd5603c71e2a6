#include "cohort/models/decoder.h"

#include <ATen/CPUGeneratorImpl.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include "cohort/core/error.h"
#include "cohort/models/decoder_layer.h"
#include "cohort/ops/rms_norm.h"
#include "cohort/tensor/check.h"

namespace cohort {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class EmbeddingFunction : public torch::autograd::Function<EmbeddingFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& weight, const at::Tensor& token_ids,
                            at::ScalarType compute) {
    context->save_for_backward({weight, token_ids});
    return weight.detach().index_select(0, token_ids).to(compute);
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const auto saved = context->get_saved_variables();
    const at::Tensor& weight = saved[0];
    if (weight.requires_grad()) {
      at::Tensor& grad = weight.mutable_grad();
      if (!grad.defined()) grad = at::zeros_like(weight);
      grad.index_add_(0, saved[1], grads[0].to(weight.scalar_type()));
    }
    return {at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

/// Forwards a layer without a graph and builds the graph in the backward; weights add to their gradients
/// there.
class RecomputedLayer : public torch::autograd::Function<RecomputedLayer> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const DecoderLayer* layer,
                            const DecoderInput* input, const RopeTable* rope) {
    context->save_for_backward({x});
    context->saved_data["layer"] = reinterpret_cast<int64_t>(layer);
    context->saved_data["input"] = reinterpret_cast<int64_t>(input);
    context->saved_data["rope"] = reinterpret_cast<int64_t>(rope);
    return layer->forward(x, *input, *rope);
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const auto* layer = reinterpret_cast<const DecoderLayer*>(context->saved_data["layer"].toInt());
    const auto& input = *reinterpret_cast<const DecoderInput*>(context->saved_data["input"].toInt());
    const auto& rope = *reinterpret_cast<const RopeTable*>(context->saved_data["rope"].toInt());
    const at::AutoGradMode with_graph(true);
    const at::Tensor x = context->get_saved_variables()[0].detach().requires_grad_(true);
    torch::autograd::backward({layer->forward(x, input, rope)}, {grads[0]});
    return {x.grad(), at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

at::Tensor rope_frequencies(const DecoderConfig& config) {
  const at::Tensor exponents =
      at::arange(0, config.head_dim, 2, at::kFloat) / static_cast<double>(config.head_dim);
  return at::reciprocal(at::pow(at::scalar_tensor(config.rope_theta, at::kFloat), exponents));
}

}  // namespace

void DecoderInput::set_rows(std::vector<int64_t> token_ids, std::vector<int64_t> positions,
                            at::Device device) {
  const auto rows = padded_rows(static_cast<int64_t>(token_ids.size()));
  token_ids.resize(rows, 0);
  positions.resize(rows, 0);
  this->token_ids = at::tensor(token_ids, at::kLong).to(device);
  this->positions = at::tensor(positions, at::kLong).to(device);
}

Decoder::Decoder(DecoderConfig config, at::ScalarType compute, at::Device device, uint64_t seed)
    : config_(std::move(config)), compute_(compute) {
  const at::ScalarType master = compute == at::kDouble ? at::kDouble : at::kFloat;
  at::Generator generator = at::detail::createCPUGenerator(seed);
  const MakeParameter make = [&](at::IntArrayRef sizes, double mean, double deviation) {
    at::Tensor values = at::full(sizes, mean, at::kFloat);
    if (deviation > 0.0) values.normal_(mean, deviation, generator);
    parameters_.push_back(values.to(device, master).set_requires_grad(true));
    return parameters_.back();
  };
  const at::Tensor embedding =
      make({config_.vocab_size, config_.hidden_size}, 0.0, config_.initializer_range);
  embedding_ = embedding;
  named_weights_.emplace_back("model.embed_tokens.weight", embedding.detach());
  for (int64_t i = 0; i < config_.num_hidden_layers; ++i) {
    layers_.push_back(std::make_unique<DecoderLayer>(config_, i, compute, make, named_weights_));
  }
  final_norm_ = make({config_.hidden_size}, 1.0, 0.0);
  named_weights_.emplace_back("model.norm.weight", final_norm_.detach());
  at::Tensor head = embedding_;
  if (!config_.tie_word_embeddings) {
    head = make({config_.vocab_size, config_.hidden_size}, 0.0, config_.initializer_range);
    named_weights_.emplace_back("lm_head.weight", head.detach());
  }
  head_ = Linear(head, at::Tensor(), compute);
  rope_ = make_rope_table(rope_frequencies(config_), config_.max_position_embeddings);
  rope_ = {rope_.cos.to(device, master), rope_.sin.to(device, master)};
}

Decoder::~Decoder() = default;

at::Tensor Decoder::embed(const at::Tensor& token_ids) const {
  if (!at::GradMode::is_enabled()) return embedding_.detach().index_select(0, token_ids).to(compute_);
  return EmbeddingFunction::apply(embedding_, token_ids, compute_);
}

at::Tensor Decoder::forward(const DecoderInput& input) const {
  check_shape(input.token_ids, {-1}, "decoder: token_ids");
  check_shape(input.positions, {input.token_ids.size(0)}, "decoder: positions");
  at::Tensor x = embed(input.token_ids);
  for (const auto& layer : layers_) {
    if (input.recompute && at::GradMode::is_enabled()) {
      x = RecomputedLayer::apply(x, layer.get(), &input, &rope_);
    } else {
      x = layer->forward(x, input, rope_);
    }
  }
  return x;
}

at::Tensor Decoder::head_input(const at::Tensor& hidden, const at::Tensor& rows) const {
  return rms_norm(hidden.index_select(0, rows), final_norm_, config_.rms_norm_eps);
}

int64_t Decoder::num_parameters() const {
  int64_t total = 0;
  for (const at::Tensor& parameter : parameters_) total += parameter.numel();
  return total;
}

void Decoder::refresh() {
  for (const auto& layer : layers_) layer->refresh();
  head_.repack();
}

}  // namespace cohort
