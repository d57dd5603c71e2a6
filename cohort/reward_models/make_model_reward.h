// The makers behind reward_models.def, one per line; everyone else calls make_reward with all_rewards.
#pragma once

#include "cohort/reward_models/all_rewards.h"

namespace cohort {

#define REWARD(name, meaning) RewardMaker name##_reward(const JudgedPolicy& policy);
#include "cohort/reward_models/reward_models.def"
#undef REWARD

}  // namespace cohort
