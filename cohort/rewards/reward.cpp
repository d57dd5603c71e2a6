#include "cohort/rewards/reward.h"

#include <set>
#include <sstream>

#include "cohort/core/config_values.h"
#include "cohort/rewards/make_reward.h"
#include "cohort/rewards/reward_weight.h"
#include "libs/common/nearest.h"

namespace cohort {
void check_keys(const RewardConfig& config, const std::string& type, const std::string& keys) {
  std::istringstream words(keys);
  const std::set<std::string> heeded{std::istream_iterator<std::string>(words), {}};
  static const std::set<std::string> common_keys{"name",     "type",    "weight",   "weight_at", "checks",
                                                 "requires", "domains", "clip_min", "clip_max"};
  RewardConfig given = config, unset;
  const Section settings = settings_of(given), defaults = settings_of(unset);
  for (size_t i = 0; i < settings.fields.size(); ++i) {
    const std::string& key = settings.fields[i].name;
    if (common_keys.contains(key) || heeded.contains(key)) continue;
    if (value_text(settings.fields[i]) == value_text(defaults.fields[i])) continue;
    throw ConfigError(str("reward ", config.name, ": `", key, "` has no effect on type \"", type, "\"",
                          heeded.empty() ? ", which has no keys" : str(", which heeds ", keys),
                          "; remove it"));
  }
}

std::vector<RewardResult> Reward::score_batch(std::span<const RewardRow> rows) {
  std::vector<RewardResult> results;
  results.reserve(rows.size());
  for (const RewardRow& row : rows) results.push_back(score(row.prompt, row.completion));
  return results;
}

std::vector<Remark> Reward::explain(const Prompt&, const Completion&) const { return {}; }

std::string Reward::answer(const Prompt&, const Completion&) const { return ""; }

std::vector<RewardResult> fail_rows(std::span<const RewardRow> rows, RewardStatus status,
                                    const std::string& reason) {
  std::vector<RewardResult> results;
  results.reserve(rows.size());
  for (const RewardRow& row : rows) results.push_back({0.0, status, str(row.prompt.id, ": ", reason)});
  return results;
}

const RewardTypes& builtin_rewards() {
  static const RewardTypes types{
#define REWARD(name, keys, meaning) {#name, keys, meaning, make_##name##_reward},
#include "cohort/rewards/rewards.def"
#undef REWARD
  };
  return types;
}

std::unique_ptr<Reward> make_reward(const RewardConfig& config, const RewardTypes& types) {
  const std::string& name = config.type.empty() ? config.name : config.type;
  std::vector<std::string> names;
  for (const RewardType& type : types) {
    names.push_back(type.name);
    if (name != type.name) continue;
    check_reward_weight(config);
    check_keys(config, type.name, type.keys);
    if (config.clip_min && config.clip_max && *config.clip_min > *config.clip_max)
      throw ConfigError(str("reward ", config.name, ": `clip_min` is above `clip_max`"));
    return type.make(config);
  }
  throw ConfigError(str("unknown reward type \"", name, "\"; did you mean \"", nearest_name(name, names),
                        "\"? A program of yours is type = \"command\""));
}

}  // namespace cohort
