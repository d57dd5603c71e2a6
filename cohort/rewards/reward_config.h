// The settings of one reward: a `[[reward]]` table of a recipe.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cohort/core/config_table.h"

namespace cohort {

/// The keys that every reward has, and in `keys` those of its type.
struct RewardConfig {
  std::string name{};  ///< the metric's name, and the type where `type` is empty
  std::string type{};  ///< the name of a RewardType
  double weight = 1.0;
  std::map<std::string, double> weight_at{};  ///< step -> weight; reward_weight.h says what is between
  std::string category{};                     ///< with objective.use_policy_aware_weights: shares its weight
  std::string checks{};                ///< the reward that this one, which never trains, is held against
  std::string required{};              ///< key `requires`: counts only where this reward is 1
  std::vector<std::string> domains{};  ///< applies to rows of these only; to all when empty
  std::optional<double> clip_min{};
  std::optional<double> clip_max{};
  FieldTable keys{};  ///< values of the type's own keys, which read_keys gives as the type's struct

  /// The name of its RewardType.
  const std::string& kind() const { return type.empty() ? name : type; }

  /// Declares the keys that every reward has.
  void describe_common(FieldVisitor& f);
};

/// The struct of a type's keys, with the values that the reward's table gives.
template <typename Keys>
Keys read_keys(const RewardConfig& config) {
  Keys keys;
  take_values(settings_of(keys), config.keys);
  return keys;
}

}  // namespace cohort
