// What a step looks like from outside: metrics (docs/metrics.md defines each), timings and the completions
// file.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "cohort/core/json.h"
#include "cohort/objectives/advantage.h"
#include "cohort/rl/types.h"
#include "cohort/train/policy_loss.h"
#include "cohort/train/scored_rollout.h"
#include "cohort/train/tensorboard.h"

namespace cohort {

void append(Metrics& metrics, const Metrics& more);

/// `reward`, `reward_std`, `frac_reward_zero_std`, `rewards/*`; `weights` are those of the step. NaN where
/// too few completions could be judged.
Metrics reward_metrics(const std::vector<RewardMatrix>& rewards, const TotalRewards& totals,
                       const Advantages& advantages, const std::vector<double>& weights);

/// `completions/*`.
Metrics length_metrics(const std::vector<RolloutGroup>& groups);

/// `loss`, `entropy`, what the objective says of itself (`kl`, `ratio/*`, `clip_ratio/*`...), `sampling/*`,
/// `rows/*`.
Metrics loss_metrics(const LossResult& loss, const LossResult& first_loss, bool recompute);

/// Prompt and completion tokens, a prompt once per completion.
int64_t total_tokens(const std::vector<RolloutGroup>& groups);

/// One object a reward with what it says of a completion: score, status, detail and steps.
Json reward_cells(const RewardMatrix& rewards, int64_t completion);

/// One row per completion: ids, text, rewards with status, advantage, log-probabilities.
std::vector<Json> completion_rows(int64_t step, const std::vector<RolloutGroup>& groups,
                                  const std::vector<RewardMatrix>& rewards, const TotalRewards& totals,
                                  const Advantages& advantages);

/// The same for completions that were drawn and not trained on, with the reason in `untrained` and without an
/// advantage.
void append_untrained_rows(int64_t step, const ScoredRollout& rollout, std::vector<Json>& rows);

/// The completions of a micro-batch whose loss or gradient was not finite.
std::vector<Json> nonfinite_rows(const std::vector<const Completion*>& completions);

/// For the progress line: reward, rewards by name, length.
std::string summary(const Metrics& metrics);

/// The value of a metric, or 0 where it is not there.
double find_metric(const Metrics& metrics, const std::string& name);

/// Seconds between laps, written into a step's timings.
class StepTimer {
 public:
  explicit StepTimer(Metrics& timings) : timings_(timings) {}

  /// Names the time since the last lap; laps of one name add up.
  void lap(const char* name);

  /// Adds timings that were taken elsewhere.
  void add(const Metrics& timings) { append(timings_, timings); }

  /// Adds `step_time`, `timing_s/step` and `perf/*`.
  void finish(int64_t num_tokens);

 private:
  using Clock = std::chrono::steady_clock;
  Metrics& timings_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_ = start_;
};

}  // namespace cohort
