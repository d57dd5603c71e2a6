// What differs between two runs: their settings, where their metrics ended, and the same prompts in both.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cohort/core/json.h"
#include "cohort/explain/run_finding.h"

namespace cohort {

/// A setting by its dotted key. Tables in a list are counted from 0 (`reward.0.name`), other lists are
/// values; null where a run lacks the setting.
struct SettingDifference {
  std::string key;
  Json a, b;
};

/// The mean of the last tenth of a metric's values, at least of four.
struct MetricEnd {
  double mean = 0.0;
  std::optional<double> error{};  ///< standard error of the mean; nothing for a single value
};

/// A metric that at least one run has.
struct MetricDifference {
  std::string name;
  std::optional<MetricEnd> a{}, b{};  ///< nothing where a run has no number of it
};

/// Mean rewards of a prompt in the first and in the last step that drew it, as prompt_summaries() takes them.
struct PromptRewards {
  double begin = 0.0, end = 0.0;
};

/// A prompt that both runs drew and rewarded.
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

/// The same for runs that are read already.
RunDiff compare_runs(const RunEvidence& a, const RunEvidence& b);

/// Settings that differ between two recipes, by key, without `run.dir`.
std::vector<SettingDifference> compare_settings(const Json& a, const Json& b);

Json to_json(const RunDiff& diff);

/// The same as lines for a terminal, each with its end: settings, metrics whose ends differ clearly, prompts.
std::string to_text(const RunDiff& diff);

}  // namespace cohort
