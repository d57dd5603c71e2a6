// The makers behind rewards.def, one per line; everyone else calls make_reward of reward.h.
#pragma once

#include <memory>

#include "cohort/rewards/reward.h"

namespace cohort {

#define REWARD(name, keys, meaning) std::unique_ptr<Reward> make_##name##_reward(const RewardConfig& config);
#include "cohort/rewards/rewards.def"
#undef REWARD

}  // namespace cohort
