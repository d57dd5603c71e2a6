// Judging a model on held-out prompts: rewards, pass@k, lengths. The trainer's evaluation and `cohort eval`.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cohort/dist/group.h"
#include "cohort/records/tensorboard.h"
#include "cohort/rewards/reward_scorer.h"
#include "cohort/sampler/sampler.h"
#include "cohort/train/run/majority.h"

namespace cohort {

constexpr int64_t kNumRewardStatuses = static_cast<int64_t>(RewardStatus::kSkipped) + 1;

/// What one reward function says.
struct RewardEvaluation {
  std::string name;
  std::optional<double> mean;         ///< over the completions with status ok; nothing when there is none
  std::map<int64_t, double> pass_at;  ///< k -> pass@k for k = 1, 2, 4, ... up to the group's size
  std::map<int64_t, double> cons_at;  ///< k -> cons@k for k = 2, 4, ...; empty where it reads no answers
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

/// The votes of one prompt's completions by each reward.
using GroupVotes = std::vector<std::vector<Vote>>;

/// Called for each prompt's samples when they are judged, in the order of the prompts.
using OnGroup = std::function<void(const Group&)>;

/// Samples `num_generations` completions of each prompt and judges them by all rewards of `scorer`. A
/// completion succeeds by a reward function when its score is at least 1. Cells that are not ok take no part:
/// pass@k and cons@k are means over the prompts with at least k judged completions, and lack the k for which
/// there is none. Each of `processes` draws and judges a share of the prompts.
Evaluation evaluate(Sampler& sampler, const std::vector<Prompt>& prompts, int64_t num_generations,
                    const SamplingParams& params, RewardScorer& scorer, const RolloutAddress& address,
                    const OnGroup& on_group = {}, TurnHandler* turns = nullptr,
                    dist::Group& processes = dist::alone());

/// The figures of given samples with their total rewards. `votes` are per group, or empty.
Evaluation summarize(const Batch& batch, const std::vector<GroupVotes>& votes = {});

/// TRL's names with the prefix `eval_`; pass@k as `eval_rewards/NAME/pass@K`, and cons@k alike.
Metrics evaluation_metrics(const Evaluation& evaluation);

/// The names that an evaluation with such rewards may have.
std::vector<std::string> evaluation_metric_names(const std::vector<std::string>& rewards,
                                                 int64_t num_generations);

}  // namespace cohort
