#include "cohort/rewards/reward.h"

#include <cmath>

#include "cohort/core/nearest.h"
#include "cohort/rewards/make_reward.h"

namespace cohort {
namespace {

struct RewardEntry {
  const char* type;
  std::unique_ptr<Reward> (*make)(const RewardConfig&);
};

constexpr RewardEntry kRewards[] = {
#define REWARD(name, meaning) {#name, make_##name##_reward},
#include "cohort/rewards/rewards.def"
#undef REWARD
};

void validate(const RewardConfig& config, const std::string& type) {
  if (!std::isfinite(config.weight))
    throw ConfigError(str("reward ", config.name, ": weight must be finite"));
  if (type != "command" && !config.command.empty()) {
    throw ConfigError(str("reward ", config.name, ": `command` has no effect on type \"", type,
                          "\"; set type = \"command\" or remove it"));
  }
  if (type != "command" && config.timeout_s) {
    throw ConfigError(
        str("reward ", config.name, ": `timeout_s` has no effect on type \"", type, "\"; remove it"));
  }
  if (type != "accuracy" && !config.answer_places.empty()) {
    throw ConfigError(
        str("reward ", config.name, ": `answer_places` has no effect on type \"", type, "\"; remove it"));
  }
}

}  // namespace

std::vector<std::string> reward_types() {
  std::vector<std::string> types;
  for (const RewardEntry& entry : kRewards) types.emplace_back(entry.type);
  return types;
}

std::unique_ptr<Reward> make_reward(const RewardConfig& config) {
  const std::string& type = config.type.empty() ? config.name : config.type;
  for (const RewardEntry& entry : kRewards) {
    if (type != entry.type) continue;
    validate(config, type);
    return entry.make(config);
  }
  throw ConfigError(str("unknown reward type \"", type, "\"; did you mean \"",
                        nearest_name(type, reward_types()), "\"? A program of yours is type = \"command\""));
}

}  // namespace cohort
