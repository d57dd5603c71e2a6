#include "cohort/rewards/reward_weight.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "cohort/core/error.h"

namespace cohort {
namespace {

/// The step that a key of `weight_at` names; 0 for one that names none.
int64_t parse_step(const std::string& key) {
  int64_t step = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), step);
  return error == std::errc() && end == key.data() + key.size() ? std::max<int64_t>(step, 0) : 0;
}

/// `weight_at` in the order of its steps.
std::map<int64_t, double> points_of(const RewardConfig& config) {
  std::map<int64_t, double> points;
  for (const auto& [key, weight] : config.weight_at) points[parse_step(key)] = weight;
  return points;
}

}  // namespace

double reward_weight(const RewardConfig& config, int64_t step) {
  if (config.weight_at.empty()) return config.weight;
  const std::map<int64_t, double> points = points_of(config);
  const auto next = points.lower_bound(step);
  if (next == points.end()) return points.rbegin()->second;
  if (next == points.begin() || next->first == step) return next->second;
  const auto [last_step, last_weight] = *std::prev(next);
  const double progress =
      static_cast<double>(step - last_step) / static_cast<double>(next->first - last_step);
  return last_weight + (next->second - last_weight) * progress;
}

double last_reward_weight(const RewardConfig& config) {
  return config.weight_at.empty() ? config.weight : points_of(config).rbegin()->second;
}

bool ever_counts(const RewardConfig& config) {
  if (config.weight_at.empty()) return config.weight != 0.0;
  return std::any_of(config.weight_at.begin(), config.weight_at.end(),
                     [](const auto& point) { return point.second != 0.0; });
}

void check_reward_weight(const RewardConfig& config) {
  if (!std::isfinite(config.weight))
    throw ConfigError(str("reward ", config.name, ": weight must be finite"));
  if (config.weight_at.empty()) return;
  if (config.weight != RewardConfig().weight) {
    throw ConfigError(str("reward ", config.name, ": `weight` has no effect beside `weight_at`; remove it"));
  }
  for (const auto& [key, weight] : config.weight_at) {
    if (parse_step(key) == 0 || std::to_string(parse_step(key)) != key) {
      throw ConfigError(str("reward ", config.name, ": weight_at.\"", key,
                            "\" is no step: write {1 = 0.0, 100 = 1.0}, steps counted from 1"));
    }
    if (!std::isfinite(weight))
      throw ConfigError(str("reward ", config.name, ": weight_at.", key, " must be finite"));
  }
}

}  // namespace cohort
