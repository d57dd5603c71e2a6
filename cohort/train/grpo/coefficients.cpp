#include "cohort/train/grpo/coefficients.h"

#include <cmath>
#include <limits>

#include "cohort/objectives/controllers.h"

namespace cohort {
namespace {

EntropyControl entropy_control(const ControlConfig& config) {
  return {.target = config.entropy_target,
          .step = config.entropy_coef_delta,
          .smallest = config.entropy_coef_min,
          .largest = config.entropy_coef_max};
}

}  // namespace

Coefficients::Coefficients(const ObjectiveConfig& config)
    : config_(config.control),
      beta_(config.loss.beta),
      entropy_coef_(config.loss.entropy_coef),
      entropy_(std::numeric_limits<double>::infinity()),
      length_preference_(config.loss.length_preference) {}

std::optional<double> Coefficients::beta(const Prompt& prompt) const {
  if (config_.use_adaptive_beta) return beta_;
  if (config_.domain_beta.empty()) return std::nullopt;
  const auto domain = prompt.fields.find("domain");
  if (domain == prompt.fields.end() || !domain->is_string()) return beta_;
  const auto own = config_.domain_beta.find(domain->get<std::string>());
  return own == config_.domain_beta.end() ? beta_ : own->second;
}

LossCoefficients Coefficients::of_update() const {
  LossCoefficients coefficients;
  if (config_.use_adaptive_entropy)
    coefficients.entropy_coef = applied_entropy_coef(entropy_coef_, entropy_, entropy_control(config_));
  if (config_.length_preference_learning_rate > 0.0) coefficients.length_preference = length_preference_;
  return coefficients;
}

void Coefficients::after_update(const LossResult& loss) {
  if (config_.use_adaptive_entropy && loss.num_forwarded_tokens > 0) {
    entropy_ = loss.objective.values().at("bonus_entropy");
    entropy_coef_ = adapted_entropy_coef(entropy_coef_, entropy_, entropy_control(config_));
  }
  length_preference_ -= config_.length_preference_learning_rate * loss.length_preference_gradient;
}

void Coefficients::after_step(double kl, int64_t num_completions) {
  if (config_.use_adaptive_beta && !std::isnan(kl))
    beta_ = adapted_beta(beta_, kl, config_.target_kl, num_completions, config_.kl_horizon);
}

Metrics Coefficients::metrics() const {
  Metrics metrics;
  if (config_.use_adaptive_entropy) metrics.emplace_back("entropy_coef", entropy_coef_);
  if (config_.use_adaptive_beta) metrics.emplace_back("beta", beta_);
  if (config_.length_preference_learning_rate > 0.0)
    metrics.emplace_back("length_preference", length_preference_);
  return metrics;
}

Json Coefficients::save() const {
  return {{"beta", beta_},
          {"entropy_coef", entropy_coef_},
          {"entropy", std::isfinite(entropy_) ? Json(entropy_) : Json(nullptr)},
          {"length_preference", length_preference_}};
}

void Coefficients::load(const Json& state) {
  beta_ = state.at("beta").get<double>();
  entropy_coef_ = state.at("entropy_coef").get<double>();
  entropy_ = state.at("entropy").is_null() ? std::numeric_limits<double>::infinity()
                                           : state.at("entropy").get<double>();
  length_preference_ = state.at("length_preference").get<double>();
}

}  // namespace cohort
