// From the rewards of steps to advantages of tokens (process supervision, arXiv:2402.03300 section 4.1.3).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cohort/objectives/advantage.h"

namespace cohort {

/// What rewards weigh, and which of them judge step by step; both per reward.
struct RewardColumns {
  std::span<const double> weights;
  std::span<const uint8_t> gives_steps;
};

/// The advantage of a token is the sum of the normalised rewards of the steps that end with it or behind it:
///   A_t = sum over steps j with end_j > t of (r_j - mean(R)) / (std(R) + 1e-4)
/// where R holds the weighted rewards of all steps of all completions of the group, and `scale` chooses the
/// divisor as in group_advantages. Rewards without steps add their own advantage, that of the outcome, to
/// every token. `totals` are the completions' scores; one that is not valid there takes no part and has
/// advantage 0. `lengths` are the completions' tokens. `values` are those of the first tokens; `reward_mean`
/// and `reward_std` are those of the completions' total scores.
Advantages process_advantages(std::span<const RewardMatrix> rewards, const RewardColumns& columns,
                              const TotalRewards& totals, std::span<const int64_t> lengths,
                              ScaleRewards scale);

}  // namespace cohort
