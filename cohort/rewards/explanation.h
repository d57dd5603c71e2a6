// What rewards saw in a completion, as text for people.
#pragma once

#include <ostream>

#include "cohort/rewards/reward_scorer.h"

namespace cohort {

/// The row's name, and for each reward its score, its reason and what it read. `results`: a cell per reward.
void write_explanation(std::ostream& out, const RewardScorer& scorer, const Prompt& prompt,
                       const Completion& completion, const std::vector<RewardResult>& results);

}  // namespace cohort
