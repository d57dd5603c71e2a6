// Rewards that are programs: `command`, and `python` by a program of ours.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cohort/rewards/reward.h"

namespace cohort {

/// The reward that `workers` copies of `command` give, a request of batch_protocol.h at a time.
std::unique_ptr<Reward> make_program_reward(const RewardConfig& config, std::vector<std::string> command);

}  // namespace cohort
