// Judging a model on held-out prompts: rewards, pass@k, lengths. The trainer's evaluation and `cohort eval`.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cohort/rewards/reward_scorer.h"
#include "cohort/sampler/sampler.h"

namespace cohort {

constexpr int64_t kNumRewardStatuses = static_cast<int64_t>(RewardStatus::kSkipped) + 1;

/// What one reward function says.
struct RewardEvaluation {
  std::string name;
  std::optional<double> mean;         ///< over the completions with status ok; nothing when there is none
  std::map<int64_t, double> pass_at;  ///< k -> pass@k for k = 1, 2, 4, ... up to the group's size
  std::array<int64_t, kNumRewardStatuses> status_counts{};
};

struct Evaluation {
  int64_t num_prompts = 0;
  int64_t num_completions = 0;
  std::optional<double> mean_reward;  ///< weighted sum of the rewards, over the completions that have one
  std::vector<RewardEvaluation> rewards;
  double mean_length = 0.0;  ///< of completions, in tokens, the stop token included
  int64_t min_length = 0;
  int64_t max_length = 0;
  int64_t num_stopped = 0;  ///< completions that a stop token or string ended
};

/// The unbiased estimate 1 - C(n - c, k) / C(n, k) of the chance that one of k completions succeeds, from n
/// completions of which c did (arXiv:2107.03374). Needs 1 <= k <= n.
double pass_at_k(int64_t n, int64_t c, int64_t k);

/// Samples `num_generations` completions of each prompt and judges them by all rewards of `scorer`. A
/// completion succeeds by a reward function when its score is at least 1. Cells that are not ok take no part:
/// pass@k is the mean over the prompts with at least k judged completions, and lacks the k for which there is
/// none.
Evaluation evaluate(Sampler& sampler, const std::vector<Prompt>& prompts, int64_t num_generations,
                    const SamplingParams& params, RewardScorer& scorer, RolloutAddress address);

/// The figures of given completions; `rewards` runs beside `groups`.
Evaluation summarise(const std::vector<RolloutGroup>& groups, const std::vector<RewardMatrix>& rewards,
                     const std::vector<double>& weights);

}  // namespace cohort
