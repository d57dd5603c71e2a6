// The credit of tokens from the rewards of steps. Legend as in advantage_algebra.h.
#pragma once

#include <cstdint>
#include <vector>

#include "cohort/objectives/advantage_algebra.h"
#include "cohort/objectives/advantage_batch.h"

namespace cohort {

struct StepCredit {
  std::vector<double> values;              ///< [M]; nan: the token's completion takes no part
  std::vector<double> scores;              ///< the rewards of all steps that take part
  std::vector<uint8_t> has_no_difference;  ///< [P]
};

/// Advantages of steps within their group, and what each token has of them: those of its own step, or of all
/// from the token on. `outcome_rewards` of completions are normalized by the same settings and added to every
/// token.
StepCredit credit_of_steps(const AdvantageInput& input, const AdvantageBatch& batch,
                           const AdvantageConfig& config);

}  // namespace cohort
