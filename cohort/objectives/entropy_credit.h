// Credit by entropy: shares of an outcome's reward along the completions of a group that are alive at a
// position (GTPO, GRPO-S), and advantages divided by relative entropy (EDGE). Entropies are constants, in
// nats. Legend: N completions, M tokens, packed; a score of nan is none: its completion takes no part and has
// 0. A completion is right when its score is above 0, which serves rewards of 1 and 0 and of 1 and -1.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cohort/core/config.h"

namespace cohort {

/// Completions in groups with their tokens.
struct TokenGroups {
  std::span<const double> scores;     ///< [N]
  std::span<const int64_t> ends;      ///< [P]
  std::span<const int64_t> lengths;   ///< [N], adding up to M
  std::span<const double> entropies;  ///< [M]
};

/// The keys of credit gtpo and grpo_s, and what their statistics share with the other ones.
struct EntropyShaping {
  double outcome_weight = 1.0;        ///< alpha_1 (GTPO), beta_1 (GRPO-S)
  double share_weight = 0.1;          ///< alpha_2, beta_2
  std::string statistics = "shares";  ///< "shares", "group" or "signs", see gtpo_advantages
  int64_t ddof = 1;
  double epsilon = 1e-4;

  /// Whether right and wrong ones are normalised apart, each by their own mean.
  bool sets_sides_apart() const { return statistics == "signs"; }

  void describe(FieldVisitor& f);
};

/// [M] rewards of tokens (arXiv:2508.04349 eq. 3 and 5): at position t a right completion has outcome_weight
/// + share_weight * d_t * H_t / sum H_t, over the d_t right completions that are alive there; a wrong one has
/// the negative of the same with 1 / H for H. So they add up to d_t when both weights add up to 1. Entropies
/// below 1e-8 count as 1e-8.
std::vector<double> gtpo_rewards(const TokenGroups& groups, const EntropyShaping& shaping);

/// [M] gtpo_rewards normalised over the tokens of the group: "shares", those of right completions (0
/// elsewhere) plus those of wrong ones (0 elsewhere), each by mean and std over all tokens of the group;
/// "group", all together; "signs", right and wrong tokens apart (eq. 6 read literally), whose means are both
/// 0. A group whose scores are all the same number has exactly 0.
std::vector<double> gtpo_advantages(const TokenGroups& groups, const EntropyShaping& shaping);

/// [N] rewards of completions, the same with the mean entropy of a completion's tokens and the counts of
/// right and wrong completions (GRPO-S, arXiv:2508.04349 eq. 7); 0 for one without tokens, which takes no
/// part.
std::vector<double> grpo_s_rewards(const TokenGroups& groups, const EntropyShaping& shaping);

/// [N] grpo_s_rewards normalised as gtpo_advantages does, over completions.
std::vector<double> grpo_s_advantages(const TokenGroups& groups, const EntropyShaping& shaping);

/// [N] advantage / (P / mean of the group's P), P the mean entropy of a completion's tokens, the quotient
/// kept within 0.1 and 10 (EDGE-GRPO, arXiv:2507.21848). Completions without tokens or score enter no mean.
std::vector<double> edge_advantages(std::span<const double> advantages, const TokenGroups& groups);

}  // namespace cohort
