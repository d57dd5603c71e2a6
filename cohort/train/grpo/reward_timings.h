// Where the time of a step's rewards and replies went, for timings.jsonl.
#pragma once

#include <string>
#include <vector>

#include "cohort/records/tensorboard.h"
#include "cohort/rewards/reward_scorer.h"
#include "cohort/sampler/turn_handler.h"

namespace cohort {

/// The smallest value that at least the share `quantile` of `values` does not exceed (nearest rank); needs
/// values and 0 < quantile <= 1.
double percentile(std::vector<double> values, double quantile);

/// The calls for completions that were sampled together.
struct RewardRound {
  std::vector<RewardCall> calls;
  RewardCall::Clock::time_point generation_end;
};

/// `timing_s/reward_beside_gen` and `timing_s/reward_after_gen`: how long rewards were at work before and
/// after the `generation_end` of their round, summed over all that worked at a time.
/// `timing_s/reward/NAME/p50`, `p90`, `p99`: of the time that a call of the reward `names[i]` took, over the
/// completions that it scored.
Metrics reward_timings(const std::vector<std::string>& names, const std::vector<RewardRound>& rounds);

/// `timing_s/idle_for_tools`: how long the sampler had nothing to do but to wait for replies or for agents.
/// `timing_s/tools/NAME/p50`, `p90`, `p99`: of the time that a call of a tool took.
Metrics reply_timings(const ReplyTimes& times);

}  // namespace cohort
