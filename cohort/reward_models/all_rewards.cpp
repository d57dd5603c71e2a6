#include "cohort/reward_models/all_rewards.h"

#include "cohort/reward_models/make_model_reward.h"

namespace cohort {

RewardTypes all_rewards(const JudgedPolicy& policy) {
  RewardTypes types = builtin_rewards();
#define REWARD(name, keys, meaning)      \
  types.push_back({#name, keys, meaning, \
                   [policy](const RewardConfig& config) { return make_##name##_reward(config, policy); }});
#include "cohort/reward_models/reward_models.def"
#undef REWARD
  return types;
}

}  // namespace cohort
