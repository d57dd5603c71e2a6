// A `[[tool]]` table of a recipe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cohort/core/config.h"
#include "cohort/env/tool.h"

namespace cohort {

struct ToolConfig {
  std::string type{};
  std::string function{};
  std::vector<std::string> command{};
  std::string name{};
  std::optional<double> timeout_s{};
  std::optional<int64_t> memory_mb{};
  std::optional<int64_t> max_output_length{};
  std::vector<std::string> runtime{};
  std::vector<std::string> waive_layers{};
  std::string folder{};
  std::string url{};
  std::string schema{};
  std::optional<int64_t> retries{};
  std::string api_key_env{};

  void describe(FieldVisitor& f);

  /// Throws ConfigError for a key that is missing or has no effect, and for a `timeout_s` that is not below
  /// `environment_timeout_s`.
  void check(double environment_timeout_s) const;
};

/// The tools that a table stands for; none if a program of the user's has them. Throws ConfigError.
std::vector<std::unique_ptr<Tool>> make_tools(const ToolConfig& config);

}  // namespace cohort
