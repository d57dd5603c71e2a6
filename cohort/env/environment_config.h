// The environment and the tools of a recipe: its section `[environment]` and its `[[tool]]` tables.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cohort/core/config.h"
#include "cohort/env/environment.h"
#include "cohort/env/episodes.h"
#include "cohort/env/tool_config.h"

namespace cohort {

struct EnvironmentConfig {
  std::string name;
  std::string python;
  std::vector<std::string> command;
  double wrong_turn_cost = 0.0;
  int64_t workers = 4;
  double timeout_s = 60.0;
  std::optional<int64_t> max_turns;
  std::optional<int64_t> max_tool_calls;
  std::optional<int64_t> max_turn_length;
  std::string tool_call_format;

  EpisodeLimits limits() const;

  void describe(FieldVisitor& f);
};

/// Null if there is neither an environment nor a tool. Throws ConfigError for settings that contradict each
/// other or have no effect, and for functions that cannot be loaded.
std::unique_ptr<Environment> make_environment(const EnvironmentConfig& config,
                                              const std::vector<ToolConfig>& tools);

}  // namespace cohort
