#include "cohort/rewards/checker.h"

#include <algorithm>

#include "cohort/core/error.h"
#include "cohort/rewards/reward_weight.h"

namespace cohort {

std::vector<Checker> find_checkers(const std::vector<RewardConfig>& rewards) {
  std::vector<Checker> checkers;
  for (const RewardConfig& checker : rewards) {
    if (checker.checks.empty()) continue;
    const auto checked = std::find_if(rewards.begin(), rewards.end(), [&](const RewardConfig& other) {
      return other.name == checker.checks;
    });
    if (checked == rewards.end() || checker.checks == checker.name) {
      throw ConfigError(str("reward ", checker.name, ": `checks` = \"", checker.checks,
                            "\" must be the `name` of another [[reward]]"));
    }
    if (ever_counts(checker)) {
      throw ConfigError(
          str("reward ", checker.name, ": a reward with `checks` never trains: set weight = 0"));
    }
    for (const RewardConfig& other : rewards) {
      if (other.required != checker.name) continue;
      throw ConfigError(str("reward ", other.name, ": `requires` = \"", checker.name,
                            "\" would let it train, but it checks ", checker.checks));
    }
    checkers.push_back({&checker - rewards.data(), checked - rewards.begin()});
  }
  return checkers;
}

}  // namespace cohort
