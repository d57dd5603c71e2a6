// What rewards are compared with. Legend: P groups, N scores side by side, one a completion (or, under
// process supervision, one a step); a score of nan is none: it stays nan and no statistic reads it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cohort/core/config.h"
#include "cohort/objectives/choices.h"
#include "cohort/objectives/sample_statistics.h"

namespace cohort {

struct PairwiseKeys {
  double temperature = 1.0;

  void describe(FieldVisitor& f);
};

/// Generalised advantage estimation with a critic.
struct CriticKeys {
  std::optional<double> value_lambda;
  double length_adaptive_alpha = 0.0;
  double share = 1.0;

  bool operator==(const CriticKeys&) const = default;

  void describe(FieldVisitor& f);
};

/// The keys of each baseline, under its name.
struct BaselineKeys {
#define BASELINE(id, Keys, ...) Keys id{};
#include "cohort/objectives/baselines.def"
#undef BASELINE

  void describe(FieldVisitor& f);
};

/// Where a completion of a tree left another one.
struct Fork {
  int64_t of = -1;  ///< the place of the other in the group, before its own; -1: it began at the prompt
  int64_t num_segments = 0;  ///< of the tree that both have
};

/// Scores in groups, and what single baselines read beside them.
struct ScoredGroups {
  std::span<const double> scores;           ///< [N]
  std::span<const int64_t> ends;            ///< [P] ascending, the last is N
  std::span<const int64_t> lengths{};       ///< [N] tokens; for group_len_weighted
  std::span<const double> greedy_scores{};  ///< [P]; for greedy
  std::span<const double> mean_logprobs{};  ///< [N] of the sampling policy, over tokens; for pairwise
  std::span<const Fork> forks{};            ///< [N]; for subtrees
  BaselineKeys keys{};
};

/// What a baseline's function is given: one group of a batch.
struct GroupScores {
  const ScoredGroups& all;
  const Spread& batch;             ///< of all scores
  std::span<const double> scores;  ///< of the group
  size_t group;                    ///< its index
  size_t begin;                    ///< of its first score among all
};

/// A line of baselines.def.
struct Baseline {
  const char* name;
  const char* text;
  std::vector<double> (*centred)(const GroupScores& group);  ///< scores minus baseline; null: none of scores
  bool is_of_group = false;         ///< made from the group's scores alone, so that equal ones give exactly 0
  bool is_of_completions = false;   ///< means nothing for rewards of steps
  bool has_pivot = false;           ///< is one completion's score (or between two), which may be dropped
  bool reads_lengths = false;       ///< ScoredGroups::lengths
  bool reads_greedy = false;        ///< ScoredGroups::greedy_scores
  bool reads_old_logprobs = false;  ///< ScoredGroups::mean_logprobs
  bool reads_forks = false;         ///< ScoredGroups::forks
  bool is_critic = false;           ///< the values of a critic, with credit gae
  bool is_of_states = false;        ///< of states that completions share, with credit turns
};

/// In the order of baselines.def.
std::span<const Baseline> baselines();

/// Throws InternalError for an unknown name.
const Baseline& find_baseline(const std::string& name);

/// [N] scores minus their baseline. none: the score. group_mean
/// (arXiv:2402.03300 section 4.1.2). group_loo: the mean of the others (arXiv:2402.14740). group_median: the
/// middle one, or the mean of the two in the middle (arXiv:2601.22582). group_len_weighted:
/// sum(length * score) / sum(length) (OPO, arXiv:2505.23585). batch_mean. greedy (arXiv:2310.10505).
/// second_best: best minus second for the best, 0 for the others (pass@k, arXiv:2503.19595). pairwise:
/// sum_j 2 w_ij (r_i - r_j) / (G - 1) with w_ij = sigmoid(-sign(r_i - r_j) (s_i - s_j) / temperature) and s
/// the mean log-probabilities (LamPO, reconstructed from the abstract of arXiv:2605.21235). subtrees: the
/// mean, over the group and the subtrees of two completions or more that a completion is in, one for each
/// segment, of the score minus the subtree's mean (TreePO, arXiv:2508.17445). critic: the score. Groups whose
/// scores are the same number give exactly 0 where Baseline::is_of_group.
std::vector<double> centred_scores(const ScoredGroups& groups, const std::string& baseline);

}  // namespace cohort
