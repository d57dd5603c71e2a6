#include "cohort/reward_models/all_rewards.h"

#include "cohort/reward_models/make_model_reward.h"
#include "cohort/rewards/reward_keys.h"

namespace cohort {

RewardTypes all_rewards(const JudgedPolicy& policy) {
  RewardTypes types = builtin_rewards();
#define REWARD(name, meaning) types.push_back({#name, meaning, name##_reward(policy)});
#include "cohort/reward_models/reward_models.def"
#undef REWARD
  return types;
}

void describe(FieldVisitor& f, RewardConfig& config) {
  static const RewardTypes types = all_rewards({});
  static const std::vector<Field> keys = all_keys(types);
  config.describe_common(f);
  for (const Field& key : keys) {
    const Field field = field_in(config.keys, key);
    std::visit(
        [&](auto* value) {
          f(field.name.c_str(), *value, field.meaning.c_str(), field.limits, field.on_resume);
        },
        field.value);
  }
}

}  // namespace cohort
