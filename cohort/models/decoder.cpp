#include "cohort/models/decoder.h"

#include <ATen/CPUGeneratorImpl.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <map>

#include "cohort/core/error.h"
#include "cohort/core/log.h"
#include "cohort/models/decoder_layer.h"
#include "cohort/ops/gradient.h"
#include "cohort/ops/rms_norm.h"
#include "cohort/tensor/check.h"
#include "cohort/tensor/values.h"

namespace cohort {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::Tensor embedding_rows(const at::Tensor& weight, const at::Tensor& token_ids, at::ScalarType compute,
                          double scale) {
  const at::Tensor rows = weight.detach().index_select(0, token_ids).to(compute);
  return scale == 1.0 ? rows : rows * scale;
}

class EmbeddingFunction : public torch::autograd::Function<EmbeddingFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& weight, const at::Tensor& token_ids,
                            at::ScalarType compute, double scale) {
    context->save_for_backward({weight, token_ids});
    context->saved_data["scale"] = scale;
    return embedding_rows(weight, token_ids, compute, scale);
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const auto saved = context->get_saved_variables();
    const at::Tensor& weight = saved[0];
    if (weight.requires_grad()) {
      const at::Tensor rows = grads[0].to(weight.scalar_type());
      const double scale = context->saved_data["scale"].toDouble();
      gradient_of(weight).index_add_(0, saved[1], scale == 1.0 ? rows : rows * scale);
    }
    return {{}, {}, {}, {}};
  }
};

/// What RecomputedLayer forwards again; the caller keeps both.
struct LayerPass : torch::CustomClassHolder {
  LayerPass(const DecoderLayer* layer, const DecoderInput* input) : layer(layer), input(input) {}
  const DecoderLayer* layer;
  const DecoderInput* input;
};

/// Forwards a layer without a graph and builds the graph in the backward, from what is recorded where it is;
/// weights add to their gradients there.
class RecomputedLayer : public torch::autograd::Function<RecomputedLayer> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const DecoderLayer* layer,
                            const DecoderInput* input, const RopeTable& rope) {
    context->save_for_backward({x, rope.cos, rope.sin});
    context->saved_data["pass"] = c10::IValue::make_capsule(c10::make_intrusive<LayerPass>(layer, input));
    return layer->forward(x, *input, rope);
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const auto capsule = context->saved_data["pass"].toCapsule();
    const auto& pass = static_cast<const LayerPass&>(*capsule);
    const auto saved = context->get_saved_variables();
    const RopeTable rope{saved[1], saved[2]};
    const at::AutoGradMode with_graph(true);
    const at::Tensor x = saved[0].detach().requires_grad_(true);
    torch::autograd::backward({pass.layer->forward(x, *pass.input, rope)}, {grads[0]});
    return {x.grad(), at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

/// The scale of embeddings in the compute dtype, as the models were trained.
double rounded_scale(double scale, at::ScalarType compute) {
  return at::scalar_tensor(scale, at::kFloat).to(compute).item<double>();
}

}  // namespace

void DecoderInput::set_rows(const std::vector<int64_t>& token_ids, const std::vector<int64_t>& positions,
                            at::Device device) {
  this->token_ids = at::tensor(token_ids, at::kLong).to(device);
  this->positions = at::tensor(positions, at::kLong).to(device);
}

void DecoderInput::set_result_rows(std::vector<RowRange> rows) {
  AttentionPlan own = plan.of_queries(rows);
  results = ResultRows{std::move(rows), std::move(own)};
}

RecordRows DecoderInput::in_record(std::vector<RowRange> all) const {
  std::vector<RowRange> own = results ? part_of(all, results->rows) : all;
  return {std::move(all), std::move(own)};
}

Decoder::Decoder(DecoderConfig config, at::ScalarType compute, at::Device device,
                 std::optional<uint64_t> seed, bool is_frozen)
    : config_(std::move(config)),
      compute_(compute),
      embedding_scale_(rounded_scale(config_.embedding_scale, compute)),
      planned_length_(config_.max_position_embeddings),
      is_frozen_(is_frozen) {
  const at::ScalarType master = compute == at::kDouble || is_frozen ? compute : at::kFloat;
  const auto master_options = at::TensorOptions(device).dtype(master);
  at::Generator generator = at::detail::createCPUGenerator(seed.value_or(0));
  const MakeParameter make = [&](at::IntArrayRef sizes, double mean, double deviation) {
    const bool is_drawn = seed.has_value() && !device.is_meta();
    at::Tensor values = is_drawn ? at::full(sizes, mean, at::kFloat) : at::empty(sizes, master_options);
    if (is_drawn && deviation > 0.0) values.normal_(mean, deviation, generator);
    const at::Tensor leaf = values.to(device, master).set_requires_grad(!is_frozen);
    if (!is_frozen) parameters_.push_back(leaf);
    return leaf;
  };
  embedding_ = make({config_.vocab_size, config_.hidden_size}, 0.0, config_.initializer_range);
  named_weights_.emplace_back("model.embed_tokens.weight", embedding_.detach());
  for (int64_t i = 0; i < config_.num_hidden_layers; ++i) {
    layers_.push_back(std::make_unique<DecoderLayer>(config_, i, compute, make, named_weights_));
  }
  final_norm_ = {make({config_.hidden_size}, 1.0 - config_.norm_offset, 0.0), config_.rms_norm_eps,
                 config_.norm_offset};
  named_weights_.emplace_back("model.norm.weight", final_norm_.weight.detach());
  make_head(make);
  ropes_.resize(config_.ropes.size());
  if (seed) refresh();
}

Decoder::~Decoder() = default;

void Decoder::make_head(const MakeParameter& make) {
  at::Tensor weight = embedding_, bias;
  if (config_.head != HeadKind::kCausalLm) {
    weight = make({config_.num_labels, config_.hidden_size}, 0.0, config_.initializer_range);
    named_weights_.emplace_back("score.weight", weight.detach());
    if (config_.head_bias) {
      bias = make({config_.num_labels}, 0.0, 0.0);
      named_weights_.emplace_back("score.bias", bias.detach());
    }
  } else if (!config_.tie_word_embeddings) {
    weight = make({config_.vocab_size, config_.hidden_size}, 0.0, config_.initializer_range);
    named_weights_.emplace_back("lm_head.weight", weight.detach());
  }
  const bool is_tied = weight.is_same(embedding_);
  head_ = Linear::without_values(weight, bias, compute_, /*owns_weight=*/!is_tied);
}

void Decoder::plan_length(int64_t longest_sequence) {
  if (planned_length_ != longest_sequence && std::ranges::any_of(config_.ropes, depends_on_length))
    ++weights_version_;  // keys of other frequencies
  planned_length_ = longest_sequence;
  ropes_.assign(config_.ropes.size(), {});
  for (const RopeConfig& rope : config_.ropes) {
    if (!depends_on_length(rope)) continue;
    log_info("positions (", rope.rope_type, ") are those of sequences of ", longest_sequence,
             " tokens for the whole run");
  }
}

std::vector<RopeTable> Decoder::ropes(int64_t count) const {
  const std::lock_guard lock(ropes_mutex_);
  for (size_t i = 0; i < ropes_.size(); ++i) {
    const int64_t covered = ropes_[i].cos.defined() ? ropes_[i].cos.size(0) : 0;
    if (count <= covered) continue;
    COHORT_CHECK(count <= config_.context_length, count, " positions in a context of ",
                 config_.context_length);
    const int64_t positions = std::min(std::max<int64_t>(2 * covered, count + 1024), config_.context_length);
    const RopeFrequencies rope = rope_frequencies(config_.ropes[i], config_.head_dim,
                                                  config_.max_position_embeddings, planned_length_);
    const RopeTable table = make_rope_table(rope.frequencies, positions, rope.scale);
    const at::ScalarType dtype = compute_ == at::kDouble ? at::kDouble : at::kFloat;
    ropes_[i] = {table.cos.to(device(), dtype), table.sin.to(device(), dtype)};
  }
  return ropes_;
}

at::Tensor Decoder::embed(const at::Tensor& token_ids, const AdapterUse& use) const {
  const bool is_saved = saved_embedding_.defined() && use.enabled;
  const at::Tensor& weight = is_saved ? saved_embedding_ : embedding_;
  if (!at::GradMode::is_enabled()) return embedding_rows(weight, token_ids, compute_, embedding_scale_);
  return EmbeddingFunction::apply(weight, token_ids, compute_, embedding_scale_);
}

at::Tensor Decoder::forward(const DecoderInput& input) const {
  check_shape(input.token_ids, {-1}, "decoder: token_ids");
  check_shape(input.positions, {input.token_ids.size(0)}, "decoder: positions");
  const bool has_rows = input.positions.numel() > 0;
  const std::vector<RopeTable> ropes = this->ropes(has_rows ? input.positions.max().item<int64_t>() + 1 : 0);
  at::Tensor x = embed(input.token_ids, input.adapters);
  for (size_t i = 0; i < layers_.size(); ++i) {
    const RopeTable& rope = ropes[config_.layers[i].rope];
    const bool is_made_again = input.recompute || input.store->has_outputs();
    if (is_made_again && at::GradMode::is_enabled()) {
      if (!x.requires_grad()) x.requires_grad_(true);  // of frozen embeddings: the layers have adapters
      x = RecomputedLayer::apply(x, layers_[i].get(), &input, rope);
    } else {
      x = layers_[i]->forward(x, input, rope);
    }
  }
  return x;
}

at::Tensor Decoder::head_input(const at::Tensor& hidden, const at::Tensor& rows) const {
  return rms_norm(hidden.index_select(0, rows), final_norm_);
}

std::vector<LayerProduct> Decoder::layer_products() const {
  std::vector<LayerProduct> products;
  for (const auto& layer : layers_) {
    const std::vector<LayerProduct> more = layer->products();
    products.insert(products.end(), more.begin(), more.end());
  }
  return products;
}

std::vector<Linear*> Decoder::packed_projections() {
  std::vector<Linear*> linears;
  for (const auto& layer : layers_) {
    const std::vector<Linear*> more = layer->linears();
    linears.insert(linears.end(), more.begin(), more.end());
  }
  if (has_own_head()) linears.push_back(&head_);
  std::vector<Linear*> result;
  for (const at::Tensor& leaf : parameters_) {
    const auto reader = std::ranges::find_if(
        linears, [&](Linear* linear) { return linear->is_packed() && linear->weight().is_same(leaf); });
    result.push_back(reader != linears.end() ? *reader : nullptr);
  }
  return result;
}

int64_t Decoder::num_packed() const {
  int64_t total = 0;
  for (const LayerProduct& product : layer_products())
    total += product.linear->is_packed() ? product.linear->weight().numel() : 0;
  return total + (has_own_head() && head_.is_packed() ? head_.weight().numel() : 0);
}

NamedTensors Decoder::rounded_weights() const {
  std::map<const c10::StorageImpl*, const Linear*> packed;  // by the memory that their weights had
  const auto add = [&](const Linear& linear) {
    packed.emplace(linear.weight().storage().unsafeGetStorageImpl(), &linear);
  };
  for (const LayerProduct& product : layer_products()) add(*product.linear);
  add(head_);
  NamedTensors weights;
  for (const auto& [name, weight] : named_weights_) {
    at::Tensor values = weight;
    if (!has_values(weight)) {
      const Linear& linear = *packed.at(weight.storage().unsafeGetStorageImpl());
      values = linear.values().narrow(0, weight.storage_offset() / weight.size(1), weight.size(0));
    }
    weights.emplace_back(name, values.to(at::kCPU, compute_));
  }
  return weights;
}

int64_t Decoder::num_parameters() const {
  int64_t total = 0;
  for (const auto& [name, weight] : named_weights_) total += weight.numel();
  return total;
}

bool Decoder::suits_rows_per_thread(int64_t most_parameters) const {
  if (!device().is_cpu() || compute_ == at::kDouble) return false;
  return num_parameters() <= most_parameters;
}

bool Decoder::is_small() const { return suits_rows_per_thread(1 << 21); }

bool Decoder::is_small_to_sample() const { return suits_rows_per_thread(1 << 23); }

int64_t Decoder::num_trained() const {
  int64_t total = 0;
  for (const at::Tensor& parameter : parameters_) total += parameter.numel();
  return total;
}

void Decoder::refresh() {
  ++weights_version_;
  for (const auto& layer : layers_) layer->refresh();
  head_.repack();
  if (saved_head_) saved_head_->repack();
}

}  // namespace cohort
