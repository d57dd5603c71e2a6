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
  TurnHandler* turns = nullptr;  ///< of a run with an environment
};

struct Trial {
  std::vector<Group> groups;  ///< with rewards
  /// Per reward its results of calls with one completion each, on the trial's own rows and on rows with other
  /// columns. Empty unless it failed on all of the trial.
  std::vector<std::vector<RewardResult>> alone;
  std::vector<uint8_t> may_recover;  ///< per reward (Reward::may_recover)
  bool is_shortened = false;         ///< completions end before the run's own limit
};

/// How much a trial draws.
struct TrialSize {
  int64_t num_prompts, num_generations, max_completion_length;
};

/// At most 4 prompts with 4 completions each, never more than a step has, and at most 8,192 completion
/// tokens.
TrialSize trial_size(const RolloutConfig& rollout);

/// Draws at a step that no rollout of the run uses, and leaves prompts, policy and rewards as they were; what
/// rewards do outside of this process stays done.
Trial draw_trial(const RunPlan& plan, const Decoder& policy, RewardScorer& scorer);

}  // namespace cohort
