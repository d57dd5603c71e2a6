#include "cohort/explain/run_diff.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>

#include "cohort/core/error.h"
#include "cohort/explain/prompt_summary.h"
#include "cohort/explain/rule_input.h"
#include "libs/common/excerpt.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;

/// Every value by its dotted key; lists of tables are counted from 0, other lists are values.
void flatten(const Json& settings, const std::string& prefix, std::map<std::string, Json>& flat) {
  const bool has_tables = settings.is_array() && !settings.empty() && settings.front().is_object();
  if (settings.is_object() && !settings.empty()) {
    for (const auto& [key, value] : settings.items())
      flatten(value, prefix.empty() ? key : str(prefix, ".", key), flat);
  } else if (has_tables) {
    for (size_t i = 0; i < settings.size(); ++i) flatten(settings[i], str(prefix, ".", i), flat);
  } else {
    flat[prefix] = settings;
  }
}

std::optional<MetricEnd> end_of(const Figures& figures, const std::string& name) {
  const FigureColumn* column = figures.find(name);
  const Curve curve = column == nullptr ? Curve() : Curve(*column);
  if (curve.is_empty()) return std::nullopt;
  const CurveWindow last = curve.last();
  return MetricEnd{last.mean, last.count > 1 ? std::optional(last.error) : std::nullopt};
}

std::vector<MetricDifference> compare_metrics(const Figures& a, const Figures& b) {
  std::set<std::string> names;
  for (const Figures* figures : {&a, &b}) {
    for (const std::string& name : figures->names()) names.insert(name);
  }
  std::vector<MetricDifference> metrics;
  for (const std::string& name : names) {
    MetricDifference metric{name, end_of(a, name), end_of(b, name)};
    if (metric.a || metric.b) metrics.push_back(std::move(metric));
  }
  return metrics;
}

PromptRewards rewards_of(const PromptSummary& prompt) { return {prompt.first_reward, prompt.last_reward}; }

void compare_prompts(const RunEvidence& a, const RunEvidence& b, RunDiff& diff) {
  const std::span<const CompletionEntry> entries = a.completions.entries();
  std::unordered_map<uint64_t, PromptRewards> theirs;
  for (const PromptSummary& prompt : prompt_summaries(b.completions.entries()))
    if (std::isfinite(prompt.last_reward)) theirs.emplace(prompt.prompt, rewards_of(prompt));
  std::vector<std::pair<PromptDifference, uint32_t>> shared;
  for (const PromptSummary& prompt : prompt_summaries(entries)) {
    const auto other = theirs.find(prompt.prompt);
    if (other != theirs.end() && std::isfinite(prompt.last_reward))
      shared.push_back({{"", rewards_of(prompt), other->second}, prompt.first_entry});
  }
  diff.num_shared_prompts = std::ssize(shared);
  std::ranges::stable_sort(shared, std::greater{},
                           [](const auto& one) { return std::abs(one.first.b.end - one.first.a.end); });
  if (shared.size() > RunDiff::kMostPrompts) shared.resize(RunDiff::kMostPrompts);
  std::vector<uint32_t> lines;
  for (auto& [prompt, entry] : shared) {
    diff.prompts.push_back(std::move(prompt));
    lines.push_back(entry);
  }
  for (const size_t place : line_order(lines)) {
    const std::string line = a.completions.line(entries[lines[place]]);
    diff.prompts[place].prompt_id = Json::parse(line).value("prompt_id", "");
  }
}

Json json_of(const std::optional<MetricEnd>& end) {
  if (!end) return nullptr;
  return {{"mean", end->mean}, {"error", end->error ? Json(*end->error) : Json(nullptr)}};
}

Json json_of(const PromptRewards& rewards) { return {{"begin", rewards.begin}, {"end", rewards.end}}; }

std::string text_of(const MetricEnd& end) {
  return str(figure(end.mean), " ± ", figure(end.error.value_or(0.0)));
}

bool differs_clearly(const MetricDifference& metric) {
  constexpr double kClear = 3.0;  // standard errors
  if (!metric.a || !metric.b || !metric.a->error || !metric.b->error) return false;
  return std::abs(metric.a->mean - metric.b->mean) > kClear * std::hypot(*metric.a->error, *metric.b->error);
}

/// "only the first has: kl, entropy"; nothing where there are none.
std::string names_of_one(const RunDiff& diff, const char* which,
                         std::optional<MetricEnd> MetricDifference::* missing) {
  std::string names;
  for (const MetricDifference& metric : diff.metrics)
    if (!(metric.*missing)) names += (names.empty() ? "" : ", ") + metric.name;
  return names.empty() ? "" : str("  only the ", which, " run has: ", names, "\n");
}

}  // namespace

std::vector<SettingDifference> compare_settings(const Json& a, const Json& b) {
  std::map<std::string, Json> ours, theirs;
  flatten(a, "", ours);
  flatten(b, "", theirs);
  std::set<std::string> keys;
  for (const auto* flat : {&ours, &theirs}) {
    for (const auto& [key, value] : *flat) keys.insert(key);
  }
  keys.erase("run.dir");
  std::vector<SettingDifference> settings;
  for (const std::string& key : keys) {
    SettingDifference setting{key, ours.contains(key) ? ours[key] : Json(),
                              theirs.contains(key) ? theirs[key] : Json()};
    if (setting.a != setting.b) settings.push_back(std::move(setting));
  }
  return settings;
}

RunDiff compare_runs(const fs::path& a, const fs::path& b) {
  OpenRun ours(a), theirs(b);
  return compare_runs(ours.evidence(), theirs.evidence());
}

RunDiff compare_runs(const RunEvidence& a, const RunEvidence& b) {
  RunDiff diff;
  diff.settings = compare_settings(a.recipe, b.recipe);
  diff.metrics = compare_metrics(a.figures, b.figures);
  compare_prompts(a, b, diff);
  return diff;
}

Json to_json(const RunDiff& diff) {
  Json settings = Json::array(), metrics = Json::array(), prompts = Json::array();
  for (const SettingDifference& setting : diff.settings)
    settings.push_back({{"key", setting.key}, {"a", setting.a}, {"b", setting.b}});
  for (const MetricDifference& metric : diff.metrics)
    metrics.push_back({{"name", metric.name}, {"a", json_of(metric.a)}, {"b", json_of(metric.b)}});
  for (const PromptDifference& prompt : diff.prompts)
    prompts.push_back({{"prompt_id", prompt.prompt_id}, {"a", json_of(prompt.a)}, {"b", json_of(prompt.b)}});
  return {{"settings", std::move(settings)},
          {"metrics", std::move(metrics)},
          {"prompts", std::move(prompts)},
          {"num_shared_prompts", diff.num_shared_prompts}};
}

std::string to_text(const RunDiff& diff) {
  std::string text = str("settings: ", diff.settings.size(), " differ\n");
  for (const SettingDifference& setting : diff.settings) {
    const auto shown = [](const Json& value) {
      return value.is_null() ? std::string("-") : to_json_text(value);
    };
    text += str("  ", setting.key, ": ", shown(setting.a), " -> ", shown(setting.b), "\n");
  }
  const auto is_shared = [](const MetricDifference& metric) { return metric.a && metric.b; };
  const auto has_one_value = [&](const MetricDifference& metric) {
    return is_shared(metric) && (!metric.a->error || !metric.b->error);
  };
  const auto num_single = std::ranges::count_if(diff.metrics, has_one_value);
  text += str("metrics, mean of the last tenth of the values ± standard error: ",
              std::ranges::count_if(diff.metrics, differs_clearly), " of ",
              std::ranges::count_if(diff.metrics, is_shared), " differ by more than 3 standard errors",
              num_single > 0 ? str("; ", num_single, " have one value, which tells nothing") : "", "\n");
  for (const MetricDifference& metric : diff.metrics) {
    if (differs_clearly(metric))
      text += str("  ", metric.name, ": ", text_of(*metric.a), " -> ", text_of(*metric.b), "\n");
  }
  text +=
      names_of_one(diff, "first", &MetricDifference::b) + names_of_one(diff, "second", &MetricDifference::a);
  text += str("prompts: ", diff.num_shared_prompts, " are in both runs",
              diff.num_shared_prompts > std::ssize(diff.prompts)
                  ? str(", ", diff.prompts.size(), " of which end most differently")
                  : "",
              "\n");
  for (const PromptDifference& prompt : diff.prompts) {
    if (prompt.a.begin == prompt.b.begin && prompt.a.end == prompt.b.end) continue;
    text += str("  ", excerpt(prompt.prompt_id), ": reward ", figure(prompt.a.begin), " to ",
                figure(prompt.a.end), " -> ", figure(prompt.b.begin), " to ", figure(prompt.b.end), "\n");
  }
  return text;
}

}  // namespace cohort
