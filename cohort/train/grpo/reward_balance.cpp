#include "cohort/train/grpo/reward_balance.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "cohort/core/error.h"
#include "cohort/objectives/controllers.h"
#include "cohort/objectives/sample_statistics.h"
#include "cohort/rewards/reward_weight.h"

namespace cohort {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

/// Of the rewards that count at some step.
std::vector<std::vector<size_t>> categories_of(const std::vector<RewardConfig>& rewards) {
  std::map<std::string, std::vector<size_t>> by_name;
  for (size_t r = 0; r < rewards.size(); ++r) {
    if (ever_counts(rewards[r])) by_name[rewards[r].category].push_back(r);
  }
  std::vector<std::vector<size_t>> categories;
  categories.reserve(by_name.size());
  for (auto& [name, places] : by_name) categories.push_back(std::move(places));
  return categories;
}

/// Mean over the groups of the variance of a reward's scores; nan where it judged no two samples of any.
double variance_within_groups(const Batch& batch, size_t reward) {
  double sum = 0.0;
  int64_t num_groups = 0;
  for (const Group& group : first_groups(batch.groups)) {
    std::vector<double> scores;
    for (const Sample& sample : group.samples) {
      const RewardResult& result = sample.rewards.at(reward);
      if (result.status == RewardStatus::kOk) scores.push_back(result.score);
    }
    if (scores.size() < 2) continue;
    const double deviation = spread_of(scores, /*ddof=*/0).std;
    sum += deviation * deviation;
    ++num_groups;
  }
  return num_groups > 0 ? sum / static_cast<double>(num_groups) : kNothing;
}

}  // namespace

RewardBalance::RewardBalance(const ControlConfig& config, const std::vector<RewardConfig>& rewards)
    : config_(config), categories_(categories_of(rewards)), factors_(rewards.size(), 1.0) {
  for (const RewardConfig& reward : rewards) names_.push_back(reward.name);
}

std::vector<double> RewardBalance::balanced(std::vector<double> weights) const {
  for (const std::vector<size_t>& category : categories_) {
    double total = 0.0, total_balanced = 0.0;
    for (const size_t r : category) {
      total += std::abs(weights[r]);
      total_balanced += std::abs(weights[r]) * factors_[r];
    }
    if (total_balanced == 0.0) continue;
    for (const size_t r : category) weights[r] *= factors_[r] * total / total_balanced;
  }
  return weights;
}

void RewardBalance::after_step(const Batch& batch) {
  if (!config_.use_policy_aware_weights) return;
  const FactorControl control{.prior = config_.weight_factor_prior,
                              .decay = config_.weight_factor_decay,
                              .smallest = config_.weight_factor_min,
                              .largest = config_.weight_factor_max};
  for (const std::vector<size_t>& category : categories_) {
    std::vector<double> variances;
    variances.reserve(category.size());
    for (const size_t r : category)
      variances.push_back(batch.reward_weights[r] != 0.0 ? variance_within_groups(batch, r) : kNothing);
    const double mean = spread_of(variances, /*ddof=*/0).mean;
    for (size_t i = 0; i < category.size(); ++i) {
      if (std::isnan(variances[i])) continue;
      double& factor = factors_[category[i]];
      factor = adapted_factor(factor, mean > 0.0 ? variances[i] / mean : 1.0, control);
    }
  }
}

Json RewardBalance::save() const {
  Json state = Json::object();
  for (size_t r = 0; r < names_.size(); ++r) state[names_[r]] = factors_[r];
  return state;
}

void RewardBalance::load(const Json& state) {
  for (size_t r = 0; r < names_.size(); ++r) factors_[r] = state.value(names_[r], 1.0);
}

void check_reward_balance(const ControlConfig& config, const std::vector<RewardConfig>& rewards) {
  if (!config.use_policy_aware_weights) return;
  const auto has_two = [](const std::vector<size_t>& category) { return category.size() > 1; };
  if (std::ranges::none_of(categories_of(rewards), has_two))
    throw ConfigError(
        "objective.use_policy_aware_weights moves weight between two rewards of one category, and there are "
        "none: add a [[reward]], or remove the key");
}

}  // namespace cohort
