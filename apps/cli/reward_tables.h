// Rewards as the commands that judge name them.
#pragma once

#include <string>
#include <vector>

#include "cohort/agent/agent_config.h"
#include "cohort/env/environment_config.h"
#include "cohort/rewards/reward_config.h"

namespace cohort::cli {

/// The rewards that `name` and a file of [[reward]] tables, such as a recipe of `cohort train`, choose:
/// without a file the type of that name with its defaults, else the table of that name, or all tables where
/// it is empty. Throws ConfigError where that is none.
std::vector<RewardConfig> choose_rewards(const std::string& name, const std::string& file);

/// The same with the file's environment and tools, which may give the rewards alone.
struct JudgedEpisodes {
  std::vector<RewardConfig> rewards;
  EnvironmentConfig environment{};
  AgentConfig agent{};
  std::vector<ToolConfig> tools{};
};
JudgedEpisodes choose_episodes(const std::string& name, const std::string& file);

}  // namespace cohort::cli
