// Advantages of environment steps by comparing what followed the same state in a group's completions: GAGPO
// (arXiv:2605.13217, whose formulas are known second-hand) and GiGPO (arXiv:2505.10978). Legend: P groups, S
// steps in one flat list, those of a completion in order and side by side.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cohort/objectives/scale.h"

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

/// [S] GiGPO's A^S (eq. 7): the discounted return R_k = r_k + gamma * R_(k+1) of a step, minus the baseline
/// over the group's steps that begin in the same anchor state, by their scale (F_norm is the std or 1).
/// Exactly 0 for a state that begins one step alone.
std::vector<double> anchor_state_advantages(const StateSteps& steps, double gamma,
                                            const std::string& baseline, const ScaleOptions& scale);

}  // namespace cohort
