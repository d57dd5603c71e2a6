// A step's rewards as advantages, by the settings of the objective.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cohort/objectives/advantage.h"
#include "cohort/objectives/presets.h"
#include "cohort/rl/types.h"
#include "cohort/train/policy_loss.h"
#include "cohort/train/scored_rollout.h"

namespace cohort {

/// What advantages are made of; borrows all of it.
struct StepRewards {
  std::span<const TrainedGroup> groups;   ///< with ref_logprobs, entropies, values where settings read them
  std::span<const RewardMatrix> rewards;  ///< per group
  std::span<const double> weights;        ///< per reward
  std::span<const uint8_t> gives_steps;   ///< per reward
  const TotalRewards& totals;             ///< of all completions, groups side by side
  std::span<const UntrainedGroup> untrained{};  ///< of which some are in the statistics of a group
  std::span<const int64_t> group_k{};  ///< per group, for gfpo_k by difficulty; empty: gfpo_k for all
};

/// The advantages of a step's completions. Throws ConfigError where the settings contradict each other.
Advantages step_advantages(const StepRewards& scored, const AdvantageConfig& config);

/// Mean over the tokens of log(old / reference), the KL that rewards pay for; nan without tokens.
double mean_reward_kl(std::span<const TrainedGroup> groups);

/// Whether the settings read the entropies of the policy that sampled.
bool needs_entropies(const ObjectiveSettings& settings);

}  // namespace cohort
