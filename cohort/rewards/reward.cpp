#include "cohort/rewards/reward.h"

#include "cohort/core/error.h"
#include "cohort/rewards/make_reward.h"
#include "cohort/rewards/reward_keys.h"
#include "cohort/rewards/reward_weight.h"
#include "libs/common/nearest.h"

namespace cohort {

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
#define REWARD(name, meaning) {#name, meaning, name##_reward()},
#include "cohort/rewards/rewards.def"
#undef REWARD
  };
  return types;
}

std::unique_ptr<Reward> make_reward(const RewardConfig& config, const RewardTypes& types) {
  const std::string& name = config.kind();
  std::vector<std::string> names;
  for (const RewardType& type : types) {
    names.push_back(type.name);
    if (name != type.name) continue;
    check_reward_weight(config);
    check_keys(config, key_names(type), all_keys(types));
    if (config.clip_min && config.clip_max && *config.clip_min > *config.clip_max)
      throw ConfigError(str("reward ", config.name, ": `clip_min` is above `clip_max`"));
    return type.maker.make(config);
  }
  throw ConfigError(str("unknown reward type \"", name, "\"; did you mean \"", nearest_name(name, names),
                        "\"? A program of yours is type = \"command\""));
}

}  // namespace cohort
