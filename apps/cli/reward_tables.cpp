#include "apps/cli/reward_tables.h"

#include "apps/cli/command.h"
#include "cohort/train/grpo/train_config.h"

namespace cohort::cli {

namespace {

TrainConfig read_recipe(const std::string& file) {
  TrainConfig recipe;
  apply_toml_file(settings_of(recipe), file);
  return recipe;
}

/// The table of that name, or all of them if it is empty.
std::vector<RewardConfig> named_rewards(const TrainConfig& recipe, const std::string& name,
                                        const std::string& file) {
  if (name.empty()) return recipe.reward;
  for (const RewardConfig& table : recipe.reward) {
    if (table.name == name) return {table};
  }
  throw ConfigError(str(file, ": has no [[reward]] named \"", name, "\""));
}

}  // namespace

std::vector<RewardConfig> choose_rewards(const std::string& name, const std::string& file) {
  if (file.empty()) {
    if (name.empty()) throw ConfigError("--reward is required, or --reward-config with [[reward]] tables");
    return {{.name = name}};
  }
  const TrainConfig recipe = read_recipe(file);
  if (recipe.reward.empty()) throw ConfigError(str(file, ": has no [[reward]] table"));
  return named_rewards(recipe, name, file);
}

JudgedEpisodes choose_episodes(const std::string& name, const std::string& file) {
  if (file.empty()) return {choose_rewards(name, file)};
  const TrainConfig recipe = read_recipe(file);
  const EnvironmentConfig& environment = recipe.environment;
  const bool may_judge = !environment.name.empty() || !environment.python.empty() ||
                         !environment.command.empty() || recipe.agent.is_on();
  if (recipe.reward.empty() && !may_judge) throw ConfigError(str(file, ": has no [[reward]] table"));
  return {named_rewards(recipe, name, file), recipe.environment, recipe.agent, recipe.tool};
}

}  // namespace cohort::cli
