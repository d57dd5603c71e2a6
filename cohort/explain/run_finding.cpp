#include "cohort/explain/run_finding.h"

#include <algorithm>

#include "cohort/core/error.h"
#include "cohort/core/toml_json.h"
#include "cohort/explain/rules.h"
#include "cohort/records/run_directory.h"

namespace cohort {
namespace {

struct Rule {
  const char* name;
  std::vector<RunFinding> (*find)(const RuleInput& run);
};

constexpr Rule kRules[] = {
#define RULE(name, looks_for) {#name, rules::name},
#include "cohort/explain/rules.def"
#undef RULE
};

/// A finding that says the same as another one, with advice for another cause.
struct Effect {
  const char* cause;
  const char* effect;
};

constexpr Effect kEffects[] = {
    {"learning_rate_too_high", "tasks_too_hard"}, {"learning_rate_too_high", "no_progress"},
    {"learning_rate_too_high", "cut_at_limit"},   {"learning_rate_too_high", "all_rewards_equal"},
    {"learning_rate_too_high", "same_text"},      {"constant_reward", "tasks_too_hard"},
    {"constant_reward", "tasks_too_easy"},        {"no_stop_token", "cut_at_limit"},
    {"cut_at_limit", "tasks_too_hard"},           {"cut_at_limit", "no_progress"},
    {"learning_rate_too_low", "no_progress"}};

/// Leaves effects out whose cause is found at the same level or a worse one.
void drop_effects(std::vector<RunFinding>& found) {
  const auto is_explained = [&](const RunFinding& finding) {
    return std::ranges::any_of(kEffects, [&](const Effect& pair) {
      return finding.rule == pair.effect && std::ranges::any_of(found, [&](const RunFinding& other) {
               return other.rule == pair.cause && other.level <= finding.level;
             });
    });
  };
  std::vector<RunFinding> kept;
  std::ranges::copy_if(found, std::back_inserter(kept),
                       [&](const RunFinding& finding) { return !is_explained(finding); });
  found = std::move(kept);
}

}  // namespace

const char* to_string(FindingLevel level) {
  switch (level) {
    case FindingLevel::kProblem:
      return "problem";
    case FindingLevel::kWarning:
      return "warning";
    case FindingLevel::kNote:
      return "note";
  }
  return "";
}

OpenRun::OpenRun(const std::filesystem::path& path) : figures(path), completions(path) {
  if (!RunDirectory::holds_run(path))
    throw ConfigError(str(path.string(), ": there is no run here: give a directory with a config.toml"));
  recipe = read_toml(path / "config.toml");
  figures.update();
  completions.update();
}

std::vector<RunFinding> find_problems(const RunEvidence& evidence) {
  std::vector<RunFinding> found;
  for (const std::string& side : RuleInput::sides_of(evidence.recipe)) {
    const RuleInput run(evidence, side);
    std::vector<RunFinding> own;
    for (const Rule& rule : kRules) {
      for (RunFinding& finding : rule.find(run)) {
        finding.rule = rule.name;
        if (!side.empty()) finding.text = str(side, ": ", finding.text);
        for (MetricEvidence& metric : finding.metrics) metric.metric = run.metric(metric.metric);
        own.push_back(std::move(finding));
      }
    }
    drop_effects(own);
    std::ranges::move(own, std::back_inserter(found));
  }
  std::ranges::stable_sort(found, {}, &RunFinding::level);
  return found;
}

std::vector<RunFinding> find_problems(const std::filesystem::path& run) {
  return find_problems(OpenRun(run).evidence());
}

std::string evidence_text(const std::string& name, const std::string& value, const MetricEvidence& evidence) {
  if (!evidence.first_step) return str(name, " = ", value, " at step ", evidence.step);
  return str(name, " = ", value, ", the mean of steps ", *evidence.first_step, " to ", evidence.step);
}

Json to_json(const RunFinding& finding) {
  Json metrics = Json::array(), samples = Json::array();
  for (const MetricEvidence& metric : finding.metrics)
    metrics.push_back({{"metric", metric.metric},
                       {"first_step", metric.first_step.value_or(metric.step)},
                       {"step", metric.step},
                       {"value", metric.value}});
  for (const SampleEvidence& sample : finding.samples)
    samples.push_back({{"step", sample.step}, {"prompt_id", sample.prompt_id}, {"sample", sample.sample}});
  return {{"rule", finding.rule},     {"level", to_string(finding.level)}, {"text", finding.text},
          {"advice", finding.advice}, {"metrics", std::move(metrics)},     {"samples", std::move(samples)}};
}

}  // namespace cohort
