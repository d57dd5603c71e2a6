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
  const bool is_command = type == "command", is_code = type == "code";
  if (!is_command && !is_code && !config.command.empty()) {
    throw ConfigError(str("reward ", config.name, ": `command` has no effect on type \"", type,
                          "\"; set type = \"command\" or remove it"));
  }
  const std::pair<const char*, bool> others[] = {{"timeout_s", config.timeout_s && !is_command && !is_code},
                                                 {"language", !config.language.empty() && !is_code},
                                                 {"compile", !config.compile.empty() && !is_code},
                                                 {"memory_mb", config.memory_mb && !is_code},
                                                 {"all_tests", config.all_tests && !is_code},
                                                 {"workers", config.workers && !is_code},
                                                 {"runtime", !config.runtime.empty() && !is_code},
                                                 {"waive_layers", !config.waive_layers.empty() && !is_code}};
  for (const auto& [key, is_without_effect] : others) {
    if (is_without_effect) {
      throw ConfigError(
          str("reward ", config.name, ": `", key, "` has no effect on type \"", type, "\"; remove it"));
    }
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
