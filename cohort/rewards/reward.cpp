#include "cohort/rewards/reward.h"

#include <set>
#include <sstream>

#include "cohort/core/config_values.h"
#include "cohort/core/nearest.h"
#include "cohort/rewards/make_reward.h"
#include "cohort/rewards/reward_weight.h"

namespace cohort {
namespace {

struct RewardEntry {
  const char* type;
  const char* keys;
  std::unique_ptr<Reward> (*make)(const RewardConfig&);
};

constexpr RewardEntry kRewards[] = {
#define REWARD(name, keys, meaning) {#name, keys, make_##name##_reward},
#include "cohort/rewards/rewards.def"
#undef REWARD
};

/// Refuses keys that were set and that the type does not heed.
void check_keys(const RewardConfig& config, const RewardEntry& entry) {
  std::istringstream keys(entry.keys);
  const std::set<std::string> heeded{std::istream_iterator<std::string>(keys), {}};
  static const std::set<std::string> kCommonKeys{"name",     "type",    "weight",   "weight_at", "checks",
                                                 "requires", "domains", "clip_min", "clip_max"};
  RewardConfig given = config, unset;
  const Section settings = settings_of(given), defaults = settings_of(unset);
  for (size_t i = 0; i < settings.fields.size(); ++i) {
    const std::string& key = settings.fields[i].name;
    if (kCommonKeys.contains(key) || heeded.contains(key)) continue;
    if (value_text(settings.fields[i]) == value_text(defaults.fields[i])) continue;
    throw ConfigError(str("reward ", config.name, ": `", key, "` has no effect on type \"", entry.type, "\"",
                          heeded.empty() ? ", which has no keys" : str(", which heeds ", entry.keys),
                          "; remove it"));
  }
}

}  // namespace

std::vector<RewardResult> Reward::score_batch(std::span<const RewardRow> rows) {
  std::vector<RewardResult> results;
  for (const RewardRow& row : rows) results.push_back(score(row.prompt, row.completion));
  return results;
}

std::vector<RewardResult> fail_rows(std::span<const RewardRow> rows, RewardStatus status,
                                    const std::string& reason) {
  std::vector<RewardResult> results;
  for (const RewardRow& row : rows) results.push_back({0.0, status, str(row.prompt.id, ": ", reason)});
  return results;
}

std::vector<std::string> reward_types() {
  std::vector<std::string> types;
  for (const RewardEntry& entry : kRewards) types.emplace_back(entry.type);
  return types;
}

std::unique_ptr<Reward> make_reward(const RewardConfig& config) {
  const std::string& type = config.type.empty() ? config.name : config.type;
  for (const RewardEntry& entry : kRewards) {
    if (type != entry.type) continue;
    check_reward_weight(config);
    check_keys(config, entry);
    if (config.clip_min && config.clip_max && *config.clip_min > *config.clip_max)
      throw ConfigError(str("reward ", config.name, ": `clip_min` is above `clip_max`"));
    return entry.make(config);
  }
  throw ConfigError(str("unknown reward type \"", type, "\"; did you mean \"",
                        nearest_name(type, reward_types()), "\"? A program of yours is type = \"command\""));
}

}  // namespace cohort
