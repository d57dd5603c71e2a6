// From rewards to advantages by orthogonal choices: which completions take part, a baseline, a scale, and
// which tokens get what. Everything is computed in double precision and is constant: no gradient flows.
// Legend: P groups, N completions side by side, C rewards a completion, K steps, M tokens with loss, packed:
// those of a completion behind those of the one before.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

#include "cohort/objectives/advantage_config.h"

namespace cohort {

/// What a batch brings. float32 or float64 throughout; tensors may carry gradient, which is ignored.
struct AdvantageInput {
  at::Tensor rewards{};               ///< [N], [N, C], or [N, K] with step_ends; nan: there is none
  std::vector<int64_t> group_ends{};  ///< [P] ascending, the last is N; groups of any sizes
  std::vector<int64_t> lengths{};     ///< [N] loss tokens; empty where no choice needs them
  std::vector<int64_t> owners{};  ///< [N] the completion whose score each has: itself, or one before it of
                                  ///< its episode, in which case it has no reward; empty: itself for all
  at::Tensor entropies{};         ///< [M] of the sampling policy; for credit gtpo, grpo_s and edge
  at::Tensor old_logprobs{};      ///< [M]; for kl_place reward with beta and for baseline pairwise
  at::Tensor ref_logprobs{};      ///< [M]; for kl_place reward with beta
  at::Tensor values{};            ///< [M] the critic's, of the state before each token; for credit gae
  at::Tensor greedy_rewards{};    ///< [P]; for baseline greedy
  std::vector<Fork> forks{};      ///< [N]; for baseline subtrees
  at::Tensor step_ends{};        ///< [N, K] int64: each step's last token among the completion's own, -1 none
  at::Tensor outcome_rewards{};  ///< [N] of whole completions, added to every token beside the steps' credit;
                                 ///< nan: there is none; undefined: none at all; for credit steps
  at::Tensor step_states{};  ///< [N, K] int64: equal numbers are one state before a step; for credit turns
  std::vector<double> reward_weights{};  ///< [C]; empty: all 1
  std::vector<double> betas{};           ///< [N] KL weight of each completion; empty: `beta` for all
  std::vector<int64_t> group_k{};  ///< [P] for gfpo_k by difficulty (adaptive_group_k); empty: gfpo_k for all
  std::vector<uint8_t> is_truncated{};  ///< [N]; for drop_truncated
};

struct AdvantageOutput {
  at::Tensor values;  ///< [N], or packed [M] where is_per_token, in the rewards' dtype, on their device
  bool is_per_token = false;
  at::Tensor is_kept;  ///< [N] bool; false: taken out by gfpo_k, drop_pivot or drop_truncated
  at::Tensor returns;  ///< [M] what the critic learns, with credit gae; undefined otherwise
  std::vector<uint8_t> has_no_difference;  ///< [P]; 1 where all rewards of the group are the same number
  double reward_mean = 0.0;                ///< of the completions' scores; 0 without any
  double reward_std = 0.0;                 ///< Bessel-corrected, over the same; 0 for fewer than two
  double frac_reward_zero_std = 0.0;       ///< mean of has_no_difference
};

/// The advantages of a batch. A completion without a reward, and every completion of a group whose rewards
/// are all the same number, has exactly 0 where the baseline is one of the group's. Throws ConfigError when
/// the settings contradict each other or ask for what the input lacks, InternalError for wrong shapes.
AdvantageOutput advantages_of(const AdvantageInput& input, const AdvantageConfig& config);

}  // namespace cohort
