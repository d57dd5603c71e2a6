// The makers behind rewards.def, one per line; everyone else calls make_reward of reward.h.
#pragma once

#include "cohort/rewards/reward.h"

namespace cohort {

#define REWARD(name, meaning) RewardMaker name##_reward();
#include "cohort/rewards/rewards.def"
#undef REWARD

}  // namespace cohort
