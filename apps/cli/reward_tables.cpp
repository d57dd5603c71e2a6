#include "apps/cli/reward_tables.h"

#include "apps/cli/command.h"

namespace cohort::cli {
namespace {

/// What is read of a recipe.
struct RewardTables {
  std::vector<RewardConfig> reward;

  void describe(FieldVisitor& f) { f("reward", reward, "A reward function."); }
};

}  // namespace

std::vector<RewardConfig> choose_rewards(const std::string& name, const std::string& file) {
  if (file.empty()) {
    require(name, "reward");
    return {{.name = name}};
  }
  RewardTables tables;
  apply_toml_file(settings_of(tables), file);
  if (name.empty()) return tables.reward;
  for (const RewardConfig& table : tables.reward) {
    if (table.name == name) return {table};
  }
  throw ConfigError(str(file, ": has no [[reward]] named \"", name, "\""));
}

}  // namespace cohort::cli
