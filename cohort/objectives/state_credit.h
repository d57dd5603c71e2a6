// Advantages of environment steps by comparing what followed the same state in a group's completions (GAGPO,
// arXiv:2605.13217, whose formulas are known second-hand). Legend: P groups, S steps in one flat list, those
// of a completion in order and side by side.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace cohort {

struct StateSteps {
  std::span<const double> rewards;       ///< [S]
  std::span<const int64_t> completions;  ///< [S] whose step it is
  std::span<const int64_t> states;       ///< [S] equal numbers: the same state before the step
  std::span<const int64_t> ends;         ///< [P] where each group's steps end
};

/// [S] V(s) = mean of the discounted returns of all steps of the group that begin in state s; delta_k = r_k +
/// gamma * V(s_(k+1)) - V(s_k) with V = 0 behind a completion's last step, and A_k = delta_k + gamma * lambda
/// * A_(k+1).
std::vector<double> state_group_advantages(const StateSteps& steps, double gamma, double lambda);

}  // namespace cohort
