#include "cohort/explain/run_diff.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "cohort/core/error.h"
#include "cohort/core/toml_json.h"
#include "cohort/explain/rule_input.h"
#include "cohort/records/run_directory.h"
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

/// A run that is only read.
struct OpenRun {
  explicit OpenRun(const fs::path& path) : figures(path), completions(path) {
    if (!RunDirectory::holds_run(path))
      throw ConfigError(str(path.string(), ": there is no run here: give a directory with a config.toml"));
    recipe = read_toml(path / "config.toml");
    figures.update();
    completions.update();
  }

  Json recipe;
  Figures figures;
  CompletionIndex completions;
};

std::optional<MetricEnd> end_of(const Figures& figures, const std::string& name) {
  const FigureColumn* column = figures.find(name);
  const Curve curve = column == nullptr ? Curve() : Curve(*column);
  if (curve.is_empty()) return std::nullopt;
  const CurveWindow last = curve.last();
  return MetricEnd{last.mean, last.error};
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

/// The rewards of a prompt in the first and the last step that drew it.
struct PromptSteps {
  const CompletionEntry* entry = nullptr;  ///< any of its lines
  uint32_t first_step = 0, last_step = 0;
  double first_sum = 0.0, last_sum = 0.0;
  int64_t first_count = 0, last_count = 0;

  void add(const CompletionEntry& completion) {
    if (entry == nullptr || completion.step == first_step) {
      if (entry == nullptr) first_step = completion.step;
      first_sum += completion.reward;
      ++first_count;
    }
    if (entry == nullptr || completion.step != last_step) last_sum = 0.0, last_count = 0;
    last_step = completion.step;
    last_sum += completion.reward;
    ++last_count;
    entry = &completion;
  }

  PromptRewards rewards() const {
    return {first_sum / static_cast<double>(first_count), last_sum / static_cast<double>(last_count)};
  }
};

std::map<uint64_t, PromptSteps> prompts_of(const CompletionIndex& index) {
  std::map<uint64_t, PromptSteps> prompts;
  for (const CompletionEntry& entry : index.entries()) {
    if (std::isfinite(entry.reward) && (entry.flags & kIsDemonstration) == 0)
      prompts[entry.prompt].add(entry);
  }
  return prompts;
}

void compare_prompts(const OpenRun& a, const OpenRun& b, RunDiff& diff) {
  const std::map<uint64_t, PromptSteps> ours = prompts_of(a.completions), theirs = prompts_of(b.completions);
  std::vector<std::pair<PromptDifference, const CompletionEntry*>> shared;
  for (const auto& [hash, steps] : ours) {
    const auto other = theirs.find(hash);
    if (other != theirs.end())
      shared.push_back({{"", steps.rewards(), other->second.rewards()}, steps.entry});
  }
  diff.num_shared_prompts = std::ssize(shared);
  std::ranges::stable_sort(shared, std::greater{},
                           [](const auto& one) { return std::abs(one.first.b.end - one.first.a.end); });
  if (shared.size() > RunDiff::kMostPrompts) shared.resize(RunDiff::kMostPrompts);
  for (auto& [prompt, entry] : shared) {
    prompt.prompt_id = Json::parse(a.completions.line(*entry)).value("prompt_id", "");
    diff.prompts.push_back(std::move(prompt));
  }
}

Json json_of(const std::optional<MetricEnd>& end) {
  return end ? Json{{"mean", end->mean}, {"error", end->error}} : Json(nullptr);
}

Json json_of(const PromptRewards& rewards) { return {{"begin", rewards.begin}, {"end", rewards.end}}; }

std::string text_of(const std::optional<MetricEnd>& end) {
  return end ? str(figure(end->mean), " ± ", figure(end->error)) : "-";
}

bool differs_clearly(const MetricDifference& metric) {
  constexpr double kClear = 3.0;  // standard errors
  if (!metric.a || !metric.b) return true;
  return std::abs(metric.a->mean - metric.b->mean) > kClear * std::hypot(metric.a->error, metric.b->error);
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
  const OpenRun ours(a), theirs(b);
  RunDiff diff;
  diff.settings = compare_settings(ours.recipe, theirs.recipe);
  diff.metrics = compare_metrics(ours.figures, theirs.figures);
  compare_prompts(ours, theirs, diff);
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
  const auto num_clear = std::ranges::count_if(diff.metrics, differs_clearly);
  text += str("metrics, mean of the last tenth of the steps ± standard error: ", num_clear, " of ",
              diff.metrics.size(), " differ by more than 3 standard errors\n");
  for (const MetricDifference& metric : diff.metrics) {
    if (differs_clearly(metric))
      text += str("  ", metric.name, ": ", text_of(metric.a), " -> ", text_of(metric.b), "\n");
  }
  text += str("prompts: ", diff.num_shared_prompts, " are in both runs\n");
  for (const PromptDifference& prompt : diff.prompts) {
    text += str("  ", excerpt(prompt.prompt_id), ": reward ", figure(prompt.a.begin), " to ",
                figure(prompt.a.end), " -> ", figure(prompt.b.begin), " to ", figure(prompt.b.end), "\n");
  }
  return text;
}

}  // namespace cohort
