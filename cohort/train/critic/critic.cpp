#include "cohort/train/critic/critic.h"

#include <cmath>
#include <limits>

#include "cohort/core/error.h"
#include "cohort/models/pretrained.h"
#include "cohort/tensor/compute.h"
#include "cohort/train/critic/value_pass.h"
#include "cohort/train/run/memory_plan.h"
#include "cohort/train/run/schedule.h"

namespace cohort {
namespace {

constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();  // null in metrics.jsonl

const std::string& source_of(const CriticSetup& config) {
  return config.critic.path.empty() ? config.policy_path : config.critic.path;
}

void check_model(const std::string& path, const DecoderConfig& critic, const DecoderConfig& policy) {
  if (critic.num_labels != 1) {
    throw ConfigError(str("critic.path: ", path, " has ", critic.num_labels,
                          " labels, and a value is one number: give a model with one label"));
  }
  if (critic.vocab_size < policy.vocab_size) {
    throw ConfigError(str("critic.path: ", path, " has a vocabulary of ", critic.vocab_size,
                          ", and the policy's tokens are ", policy.vocab_size,
                          ": give a model with the policy's tokenizer"));
  }
}

/// A model of the critic's own; null for a head.
std::unique_ptr<Decoder> load_critic(const CriticSetup& config, const Decoder& policy) {
  if (config.critic.is_head()) return nullptr;
  const std::string& path = source_of(config);
  const HeadKind head = read_decoder_config(path).head == HeadKind::kTokenClassification
                            ? HeadKind::kTokenClassification
                            : HeadKind::kSequenceClassification;
  auto model = load_with_head(path, policy.compute_dtype(), policy.device(), head, 1,
                              static_cast<uint64_t>(config.seed));
  check_model(path, model->config(), policy.config());
  return model;
}

/// The score of `model`, or one of zeros, computed in the type of its master.
Linear value_head(const Decoder* model, const Decoder& policy) {
  if (model != nullptr) {
    const at::Tensor& weight = model->head().weight();
    return Linear(weight, model->head().bias(), weight.scalar_type());
  }
  const at::ScalarType dtype = policy.compute_dtype() == at::kDouble ? at::kDouble : at::kFloat;
  const auto zeros = [&](at::IntArrayRef sizes) {
    return at::zeros(sizes, at::TensorOptions(policy.device()).dtype(dtype)).set_requires_grad(true);
  };
  return Linear(zeros({1, policy.config().hidden_size}), zeros({1}), dtype);
}

OptimizerConfig optimizer_of(const CriticSetup& config) {
  OptimizerConfig optimizer = config.optimizer;
  optimizer.learning_rate = config.critic.lr;
  return optimizer;
}

/// Of a model of the critic's own; else of the head alone.
AdamW make_optimizer(Decoder* model, const Linear& head, const OptimizerConfig& config,
                     dist::Group& processes) {
  if (model != nullptr) return {model->parameters(), config, processes, model->packed_projections()};
  return {{head.weight(), head.bias()}, config, processes};
}

/// Means over loss tokens, and how much of the returns' variance the values explain.
struct ValueStatistics {
  double values = kNoValue, returns = kNoValue, explained = kNoValue;
};

ValueStatistics statistics_of(std::span<const Group> groups) {
  double count = 0.0, values = 0.0, returns = 0.0, squared_returns = 0.0, errors = 0.0, squared_errors = 0.0;
  for_each_sequence(groups, [&](const Sample& sample) {
    for (int64_t t = 0; t < sample.loss_length(); ++t) {
      const double value = sample.values[t], target = sample.returns[t];
      count += 1.0;
      values += value;
      returns += target;
      squared_returns += target * target;
      errors += target - value;
      squared_errors += (target - value) * (target - value);
    }
  });
  if (count == 0.0) return {};
  const double variance = squared_returns / count - std::pow(returns / count, 2);
  const double unexplained = squared_errors / count - std::pow(errors / count, 2);
  const bool differs = variance > 1e-12 * squared_returns / count;
  return {values / count, returns / count, differs ? 1.0 - unexplained / variance : kNoValue};
}

}  // namespace

Critic::Critic(const CriticSetup& config, const Decoder& policy, int64_t num_updates, dist::Group& processes)
    : config_(config.critic),
      source_(source_of(config)),
      optimizer_config_(optimizer_of(config)),
      loss_(config.objective.loss),
      share_(config.objective.advantages.baseline_keys.critic.share),
      policy_(policy),
      num_updates_(num_updates),
      model_(load_critic(config, policy)),
      options_{
          .tokens_per_microbatch = microbatch_rows(config.tokens_per_microbatch, trunk(), config.recompute),
          .recompute = config.recompute,
          .processes = &processes,
          .gradient_slots = config.gradient_slots},
      head_(value_head(model_.get(), policy)),
      optimizer_(make_optimizer(model_.get(), head_, optimizer_config_, processes)) {}

CriticPhase Critic::begin(int64_t index) {
  phase_ = critic_phase(config_, share_, index);
  grad_norm_ = learning_rate_ = kNoValue;
  return phase_;
}

const Linear* Critic::joint_head() const {
  return model_ == nullptr && phase_.share > 0.0 && phase_.trains_policy ? &head_ : nullptr;
}

void Critic::fill_values(std::span<Group> groups) const {
  cohort::fill_values(trunk(), head_, groups, options_);
}

LossResult Critic::update(std::span<const Group> mini_batch) {
  const ValueLoss loss{
      .coefficient = loss_.value_coef, .clip = loss_.value_clip, .trains_trunk = model_ != nullptr};
  zero_grad();
  LossResult result = accumulate_value_gradient(trunk(), head_, mini_batch, loss, options_);
  if (result.is_finite && !step()) {
    result.is_finite = false;
    for_each_sequence(mini_batch,
                      [&](const Sample& sample) { result.nonfinite.push_back(sample.completion); });
  }
  return result;
}

bool Critic::step() {
  grad_norm_ = optimizer_.grad_norm();
  learning_rate_ = learning_rate(optimizer_config_, optimizer_.num_updates(), num_updates_);
  if (!std::isfinite(grad_norm_)) return false;
  optimizer_.step(learning_rate_, grad_norm_);
  refresh();
  return true;
}

Metrics Critic::metrics(std::span<const Group> groups) const {
  const ValueStatistics statistics = phase_.share > 0.0 ? statistics_of(groups) : ValueStatistics{};
  return {{"critic/share", phase_.share},
          {"critic/values/mean", statistics.values},
          {"critic/returns/mean", statistics.returns},
          {"critic/vf_explained_var", statistics.explained},
          {"critic/grad_norm", grad_norm_},
          {"critic/lr", learning_rate_}};
}

TrainedPart Critic::part() {
  if (model_ != nullptr) return {"critic_", model_->trained_weights(), &optimizer_};
  return {"critic_",
          {{"score.weight", head_.weight().detach()}, {"score.bias", head_.bias().detach()}},
          &optimizer_};
}

void Critic::refresh() {
  if (model_ != nullptr) model_->refresh();
  head_.repack();
}

void Critic::save(const std::filesystem::path& directory) const {
  if (model_ != nullptr) save_pretrained(*model_, source_, directory);
}

}  // namespace cohort
