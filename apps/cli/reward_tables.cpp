#include "apps/cli/reward_tables.h"

#include "apps/cli/command.h"
#include "cohort/train/grpo/train_config.h"

namespace cohort::cli {

std::vector<RewardConfig> choose_rewards(const std::string& name, const std::string& file) {
  if (file.empty()) {
    if (name.empty()) throw ConfigError("--reward is required, or --reward-config with [[reward]] tables");
    return {{.name = name}};
  }
  TrainConfig recipe;
  apply_toml_file(settings_of(recipe), file);
  if (recipe.reward.empty()) throw ConfigError(str(file, ": has no [[reward]] table"));
  if (name.empty()) return recipe.reward;
  for (const RewardConfig& table : recipe.reward) {
    if (table.name == name) return {table};
  }
  throw ConfigError(str(file, ": has no [[reward]] named \"", name, "\""));
}

}  // namespace cohort::cli
