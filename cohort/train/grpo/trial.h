// A trial before the first step: a few completions of a run's first prompts and what its rewards make of
// them.
#pragma once

#include <cstdint>
#include <vector>

#include "cohort/models/decoder.h"
#include "cohort/rewards/reward_scorer.h"
#include "cohort/sampler/turn_handler.h"
#include "cohort/tasks/dataset.h"
#include "cohort/text/tokenizer.h"
#include "cohort/train/grpo/train_config.h"

namespace cohort {

/// A run's parts before its first step. All of them must outlive this.
struct RunPlan {
  const TrainConfig& config;
  const DecoderConfig& model;
  const Tokenizer& tokenizer;
  const TextFormat& format;
  const Dataset& data;
  int64_t num_updates = 0;       ///< of the weights in the whole run
  TurnHandler* turns = nullptr;  ///< of a run with an environment
};

struct Trial {
  std::vector<Group> groups;  ///< with rewards
  /// Per reward its results of calls with one completion each, on the trial's own rows and on rows with other
  /// columns. Empty unless it failed on all completions that draw_trial() drew.
  std::vector<std::vector<RewardResult>> alone;
  std::vector<uint8_t> may_recover;  ///< per reward (Reward::may_recover)
  bool is_shortened = false;         ///< completions end before the run's own limit
};

/// How much a trial draws.
struct TrialSize {
  int64_t num_prompts, num_generations, max_completion_length;
};

/// 32 completions, at most 8 of a prompt; fewer where a step has fewer, or where they could take more than
/// 16,384 tokens.
TrialSize trial_size(const RolloutConfig& rollout);

/// Draws at a step that no rollout of the run uses, and leaves prompts, policy and rewards as they were; what
/// rewards do outside of this process stays done.
Trial draw_trial(const RunPlan& plan, const Decoder& policy, RewardScorer& scorer);

}  // namespace cohort
