// What rewards are compared with. Legend: P groups, N scores side by side, one a completion (or, under
// process supervision, one a step); a score of nan is none: it stays nan and no statistic reads it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cohort {

/// Scores in groups, and what single baselines read beside them.
struct ScoredGroups {
  std::span<const double> scores;           ///< [N]
  std::span<const int64_t> ends;            ///< [P] ascending, the last is N
  std::span<const int64_t> lengths{};       ///< [N] tokens; for group_len_weighted
  std::span<const double> greedy_scores{};  ///< [P]; for greedy
  std::span<const double> mean_logprobs{};  ///< [N] of the sampling policy, over tokens; for pairwise
  double pairwise_temperature = 1.0;        ///< for pairwise
};

/// Whether the baseline is one of centred_scores that is made from the group's scores, so that equal ones
/// give exactly 0.
bool is_group_baseline(const std::string& baseline);

/// [N] scores minus their baseline. none: the score. group_mean
/// (arXiv:2402.03300 section 4.1.2). group_loo: the mean of the others (arXiv:2402.14740). group_median: the
/// middle one, or the mean of the two in the middle (arXiv:2601.22582). group_len_weighted:
/// sum(length * score) / sum(length) (OPO, arXiv:2505.23585). batch_mean. greedy (arXiv:2310.10505).
/// second_best: best minus second for the best, 0 for the others (pass@k, arXiv:2503.19595). pairwise:
/// sum_j 2 w_ij (r_i - r_j) / (G - 1) with w_ij = sigmoid(-sign(r_i - r_j) (s_i - s_j) / temperature) and s
/// the mean log-probabilities (LamPO, reconstructed from the abstract of arXiv:2605.21235). critic: the
/// score. Groups whose scores are the same number give exactly 0 where is_group_baseline.
std::vector<double> centred_scores(const ScoredGroups& groups, const std::string& baseline);

}  // namespace cohort
