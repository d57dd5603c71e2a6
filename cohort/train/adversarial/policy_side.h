// One policy of an adversarial run with all that trains it.
#pragma once

#include <memory>
#include <optional>

#include "cohort/models/decoder.h"
#include "cohort/rewards/reward_scorer.h"
#include "cohort/rl/prompt_source.h"
#include "cohort/text/tokenizer.h"
#include "cohort/train/grpo/grpo_trainer.h"
#include "cohort/train/grpo/train_config.h"
#include "cohort/train/run/optimizer.h"

namespace cohort {

struct PolicySide {
  /// Puts the recipe's adapters on `base`, which is frozen. Throws UserError for adapters or rewards that
  /// can't be used.
  PolicySide(const TrainConfig& recipe, std::unique_ptr<Decoder> base, const RewardTypes& types);

  /// `num_steps` train it. All references must outlive this; `turns` may be null.
  void make_trainer(PromptSource& prompts, const Tokenizer& tokenizer, int64_t num_steps, TurnHandler* turns);

  TrainConfig config;
  std::unique_ptr<Decoder> policy;
  RewardScorer scorer;
  AdamW optimizer;
  std::optional<GrpoTrainer> trainer;
};

}  // namespace cohort
