// What differs between two runs: their settings, where their metrics ended, and the same prompts in both.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cohort/core/json.h"

namespace cohort {

/// A setting by its dotted key, items of lists counted from 0 (`reward.0.name`); null where a run has none.
struct SettingDifference {
  std::string key;
  Json a, b;
};

/// The mean of the last tenth of a metric's steps.
struct MetricEnd {
  double mean = 0.0;
  double error = 0.0;  ///< standard error of the mean
};

/// A metric that at least one run has.
struct MetricDifference {
  std::string name;
  std::optional<MetricEnd> a{}, b{};  ///< nothing where a run has no number of it
};

/// Mean rewards of a prompt's completions in the first and in the last step that drew it.
struct PromptRewards {
  double begin = 0.0, end = 0.0;
};

/// A prompt that both runs drew.
struct PromptDifference {
  std::string prompt_id;
  PromptRewards a{}, b{};
};

struct RunDiff {
  std::vector<SettingDifference> settings{};  ///< that differ, without `run.dir`
  std::vector<MetricDifference> metrics{};    ///< by name
  std::vector<PromptDifference> prompts{};    ///< those that end most differently first, at most kMostPrompts
  int64_t num_shared_prompts = 0;

  static constexpr size_t kMostPrompts = 50;
};

/// Throws ConfigError if a directory holds no run, and FormatError for damaged records.
RunDiff compare_runs(const std::filesystem::path& a, const std::filesystem::path& b);

/// Settings that differ between two recipes.
std::vector<SettingDifference> compare_settings(const Json& a, const Json& b);

Json to_json(const RunDiff& diff);

/// The same as lines for a terminal, each with its end: settings, metrics whose ends differ clearly, prompts.
std::string to_text(const RunDiff& diff);

}  // namespace cohort
