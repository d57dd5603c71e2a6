// What is wrong with a run, found in its records by rules.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cohort/core/json.h"
#include "cohort/records/completion_index.h"
#include "cohort/records/figures.h"

namespace cohort {

enum class FindingLevel : uint8_t {
  kProblem,  ///< the run learns nothing, or something else than it should
  kWarning,  ///< likely to cost reward or time
  kNote,     ///< nothing is lost
};

/// "problem", "warning" or "note".
const char* to_string(FindingLevel level);

/// A value that a rule looked at: of `step`, or the mean of the steps from `first_step` to `step`.
struct MetricEvidence {
  std::string metric;
  int64_t step = 0;
  double value = 0.0;
  std::optional<int64_t> first_step{};
};

/// A completion that shows it: `cohort completions RUN --step S --prompt-id P` prints it.
struct SampleEvidence {
  int64_t step = 0;
  std::string prompt_id;
  int64_t sample = 0;
};

struct RunFinding {
  std::string rule;  ///< its name in rules.def, such as "entropy_collapse"
  FindingLevel level = FindingLevel::kWarning;
  std::string text;    ///< one line: what is wrong, with figures
  std::string advice;  ///< one line: what to do
  std::vector<MetricEvidence> metrics{};
  std::vector<SampleEvidence> samples{};
};

/// What rules read of a run. All parts outlive the rules.
struct RunEvidence {
  const Json& recipe;  ///< config.toml, as nested objects
  const Figures& figures;
  CompletionIndex& completions;  ///< may be empty: `train.log_completions = false`
};

/// A run that is read from its directory once. Throws ConfigError if there is no run, and FormatError for
/// damaged records.
struct OpenRun {
  explicit OpenRun(const std::filesystem::path& path);

  RunEvidence evidence() { return {recipe, figures, completions}; }

  Json recipe;
  Figures figures;
  CompletionIndex completions;
};

/// Steps from which on most rules judge a run.
constexpr int64_t kStepsOfRules = 8;

/// Runs every rule of rules.def. Problems come first, then warnings and notes.
std::vector<RunFinding> find_problems(const RunEvidence& evidence);

/// The same for a run's directory; throws as OpenRun does.
std::vector<RunFinding> find_problems(const std::filesystem::path& run);

/// `name` with the value: "kl = 0.2 at step 5", or "kl = 0.2, the mean of steps 1 to 12".
std::string evidence_text(const std::string& name, const std::string& value, const MetricEvidence& evidence);

Json to_json(const RunFinding& finding);

}  // namespace cohort
