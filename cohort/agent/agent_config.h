// Agents of a recipe: its section `[agent]`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cohort/core/config.h"

namespace cohort {

struct AgentConfig {
  std::vector<std::string> command;
  bool serve = false;
  int64_t workers = 8;
  double timeout_s = 600.0;
  std::optional<int64_t> max_turns;
  int64_t port = 0;
  std::string model_name = "policy";

  /// Whether agents play the episodes of the run.
  bool is_on() const { return !command.empty() || serve; }

  void describe(FieldVisitor& f);
};

/// Throws ConfigError for settings that have no effect.
void check_agent(const AgentConfig& config);

}  // namespace cohort
