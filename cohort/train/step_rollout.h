// The first half of a GRPO step: prompt -> rollout -> reward.
#pragma once

#include <cstdint>
#include <vector>

#include "cohort/models/decoder.h"
#include "cohort/rewards/reward_scorer.h"
#include "cohort/rl/prompt_source.h"
#include "cohort/sampler/sampler.h"
#include "cohort/text/tokenizer.h"
#include "cohort/train/config.h"
#include "cohort/train/step_metrics.h"

namespace cohort {

/// The completions of a step and what their rewards say of them.
struct ScoredRollout {
  std::vector<RolloutGroup> groups;
  std::vector<RewardMatrix> rewards;  ///< per group
  std::vector<double> weights;        ///< per reward function
};

/// Decides which completions a step has, and has them scored while others are still being sampled.
class StepRollout {
 public:
  /// All arguments but the config must outlive this.
  StepRollout(const TrainConfig& config, const Decoder& policy, const Tokenizer* tokenizer,
              PromptSource& prompts, RewardScorer& scorer);

  /// Draws and scores what step `index` trains on, sampled by weights with `policy_version` updates behind
  /// them. Adds the laps `timing_s/gen` and `timing_s/reward` and the rewards' own timings to `timer`.
  ScoredRollout draw(int64_t index, int64_t policy_version, StepTimer& timer);

 private:
  RolloutConfig config_;
  uint64_t seed_;
  PromptSource& prompts_;
  RewardScorer& scorer_;
  Sampler sampler_;
  SamplingParams sampling_;
};

/// How completions are drawn under `config` by a model with these stop ids.
SamplingParams sampling_params(const RolloutConfig& config, std::vector<int32_t> stop_token_ids);

}  // namespace cohort
