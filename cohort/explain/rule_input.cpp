#include "cohort/explain/rule_input.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "cohort/core/error.h"
#include "cohort/core/exact_json.h"

namespace cohort {
namespace {

RunKind kind_of(const Json& recipe) {
  if (recipe.contains("head")) return RunKind::kRewardModel;
  if (recipe.contains("rollout") || recipe.contains("attacker")) return RunKind::kPolicy;
  const bool has_pairs = recipe.contains("train") && recipe["train"].contains("pairs_per_step");
  return has_pairs ? RunKind::kPreference : RunKind::kSupervised;
}

/// The value at a dotted key; null for none.
Json value_at(const Json& settings, std::string_view key) {
  const Json* value = &settings;
  while (!key.empty()) {
    const size_t dot = key.find('.');
    const std::string part(key.substr(0, dot));
    if (!value->is_object() || !value->contains(part)) return nullptr;
    value = &(*value)[part];
    key = dot == std::string_view::npos ? std::string_view() : key.substr(dot + 1);
  }
  return *value;
}

}  // namespace

RuleInput::RuleInput(const RunEvidence& evidence, std::string side)
    : evidence_(evidence), side_(std::move(side)), kind_(kind_of(evidence.recipe)) {}

std::vector<std::string> RuleInput::sides_of(const Json& recipe) {
  if (recipe.contains("attacker")) return {"attacker", "defender"};
  return {""};
}

std::string RuleInput::metric(std::string_view name) const {
  return side_.empty() ? std::string(name) : str(side_, "/", name);
}

// What two policies share has no side in its name.
Curve RuleInput::curve(std::string_view name) const {
  const FigureColumn* column = evidence_.figures.find(metric(name));
  if (column == nullptr && is_game()) column = evidence_.figures.find(name);
  return column == nullptr ? Curve() : Curve(*column);
}

std::vector<std::string> RuleInput::names_between(std::string_view begin, std::string_view end) const {
  const std::string prefix = metric(begin);
  std::vector<std::string> found;
  for (const std::string& name : evidence_.figures.names()) {
    if (!name.starts_with(prefix) || !name.ends_with(end) || name.size() < prefix.size() + end.size())
      continue;
    found.push_back(name.substr(prefix.size(), name.size() - prefix.size() - end.size()));
  }
  return found;
}

Json RuleInput::setting(std::string_view key) const {
  if (is_game()) {
    const Json own = value_at(evidence_.recipe, str(side_, ".", key));
    if (!own.is_null()) return own;
  }
  return value_at(evidence_.recipe, key);
}

double RuleInput::number(std::string_view key, double otherwise) const {
  const Json value = setting(key);
  return value.is_number() ? value.get<double>() : otherwise;
}

bool RuleInput::flag(std::string_view key) const {
  const Json value = setting(key);
  return value.is_boolean() && value.get<bool>();
}

std::string RuleInput::text(std::string_view key) const {
  const Json value = setting(key);
  return value.is_string() ? value.get<std::string>() : "";
}

std::string RuleInput::key_of(std::string_view key) const {
  const bool has_side = is_game() && !value_at(evidence_.recipe, str(side_, ".", key)).is_null();
  return has_side ? str(side_, ".", key) : std::string(key);
}

std::string RuleInput::named(std::string_view key) const {
  const Json value = setting(key);
  return value.is_null() ? key_of(key) : str(key_of(key), " (now ", to_json_text(value), ")");
}

std::string RuleInput::named(std::string_view key, std::string_view value) const {
  return str(key_of(key), " = ", value);
}

Json RuleInput::reward(const std::string& name) const {
  const Json rewards = setting("reward");
  for (const Json& reward : rewards.is_array() ? rewards : Json::array()) {
    if (reward.value("name", "") == name) return reward;
  }
  return nullptr;
}

double RuleInput::weight(const std::string& name) const {
  const Curve weights = curve("rewards/" + name + "/weight");
  return weights.is_empty() ? 1.0 : weights.values().back();
}

double RuleInput::completions_per_step() const {
  return number("rollout.prompts_per_step", 1.0) *
         number("rollout.keep_generations", number("rollout.num_generations", 1.0));
}

bool RuleInput::compares_groups() const {
  const std::string baseline = text("objective.baseline");
  const bool is_of_group = baseline.empty() || baseline == "group_mean" || baseline == "group_loo" ||
                           baseline == "group_median" || baseline == "group_len_weighted" ||
                           baseline == "second_best" || baseline == "pairwise" || baseline == "subtrees";
  return is_of_group && number("rollout.num_generations", 1.0) > 1.0 &&
         text("objective.python_advantages").empty();
}

double RuleInput::reward_position(double reward) const {
  double low = std::min(0.0, reward), high = 0.0;
  for (const std::string& name : rewards()) high += std::max(0.0, weight(name));
  const double most = high;
  high = std::max(high, reward);
  bool is_first = true;
  for (const CompletionEntry& entry : is_game() ? std::span<const CompletionEntry>() : entries()) {
    if (!std::isfinite(entry.reward)) continue;
    const double value = entry.reward;
    low = is_first ? value : std::min(low, value);
    high = is_first ? value : std::max(high, value);
    is_first = false;
  }
  if (high > low) return (reward - low) / (high - low);
  if (reward <= 0.0) return 0.0;
  return reward >= most ? 1.0 : 0.5;
}

const char* RuleInput::drawn_reward_name() const {
  return evidence_.figures.find(metric("rollout/reward")) == nullptr ? "reward" : "rollout/reward";
}

Curve RuleInput::drawn_reward() const { return curve(drawn_reward_name()); }

Json RuleInput::completion(const CompletionEntry& entry) const {
  return parse_exact_json(evidence_.completions.line(entry));
}

std::vector<Json> RuleInput::newest_completions(
    size_t count, const std::function<bool(const CompletionEntry&)>& is_chosen) const {
  std::vector<Json> found;
  const std::span<const CompletionEntry> all = entries();
  for (size_t i = all.size(); i > 0 && found.size() < count; --i) {
    if (!is_chosen(all[i - 1])) continue;
    Json line = completion(all[i - 1]);
    if (line.is_object() && (side_.empty() || line.value("policy", "") == side_))
      found.push_back(std::move(line));
  }
  return found;
}

std::vector<SampleEvidence> samples_of(const std::vector<Json>& completions) {
  std::vector<SampleEvidence> samples;
  samples.reserve(completions.size());
  for (const Json& line : completions)
    samples.push_back(
        {line.value("step", int64_t{0}), line.value("prompt_id", ""), line.value("sample", int64_t{0})});
  return samples;
}

MetricEvidence evidence_of(std::string metric, const CurveWindow& window) {
  const bool is_one_step = window.first_step == window.last_step;
  return {std::move(metric), window.last_step, window.mean,
          is_one_step ? std::nullopt : std::optional(window.first_step)};
}

std::string figure(double value) {
  char text[32];
  const bool is_whole = value == std::floor(value) && std::abs(value) < 1e9;
  std::snprintf(text, sizeof text, is_whole ? "%.0f" : "%.3g", value);
  return text;
}

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, share > 0.0 && share < 0.01 ? "%.2g %%" : "%.0f %%", 100.0 * share);
  return text;
}

std::string steps_text(const CurveWindow& window) {
  if (window.first_step == window.last_step) return str("step ", window.first_step);
  return str("steps ", window.first_step, " to ", window.last_step);
}

}  // namespace cohort
