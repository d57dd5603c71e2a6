// Rules of a run that need more than its recipe: the rewards, the environment, the machine.
#pragma once

#include "cohort/rewards/reward_scorer.h"
#include "cohort/train/grpo/train_config.h"

namespace cohort {

/// Throws ConfigError for a credit of steps or states that no reward judges or no environment gives.
void check_supervision(const TrainConfig& config, const RewardScorer& scorer, bool has_states);

/// Throws ConfigError for a loss on replies where there are none.
void check_replies(const TrainConfig& config, bool has_replies);

/// Throws ConfigError for trees of completions where the engine does not draw each in one turn.
void check_trees(const TrainConfig& config, bool is_drawn_elsewhere);

/// Throws ConfigError for completions drawn ahead where something else than the engine draws, or a reward
/// without workers judges.
void check_ahead(const TrainConfig& config, bool is_drawn_elsewhere, const RewardScorer& scorer);

/// Throws ConfigError for a correction of a mismatch that does not exist.
void check_mismatch_acts(const TrainConfig& config, double difference);

}  // namespace cohort
