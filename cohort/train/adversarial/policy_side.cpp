#include "cohort/train/adversarial/policy_side.h"

#include "cohort/train/run/lora_start.h"

namespace cohort {
namespace {

std::unique_ptr<Decoder> adapted(std::unique_ptr<Decoder> base, const TrainConfig& recipe) {
  start_adapters(recipe.lora, recipe.model.path, static_cast<uint64_t>(recipe.seed), *base);
  return base;
}

}  // namespace

PolicySide::PolicySide(const TrainConfig& recipe, std::unique_ptr<Decoder> base, const RewardTypes& types)
    : config(recipe),
      policy(adapted(std::move(base), recipe)),
      scorer(recipe.reward, types),
      optimizer(policy->parameters(), recipe.optimizer) {}

void PolicySide::make_trainer(PromptSource& prompts, const Tokenizer& tokenizer, int64_t num_steps,
                              TurnHandler* turns) {
  const bool has_reference =
      needs_reference(resolved(config.objective, config.rollout.max_completion_length));
  trainer.emplace(config, num_steps * GrpoTrainer::updates_per_step(config), *policy,
                  has_reference ? policy.get() : nullptr, /*critic=*/nullptr, &tokenizer, prompts, scorer,
                  optimizer, /*demonstration_format=*/nullptr, RecordPlan{}, OwnFunctions{}, turns);
}

}  // namespace cohort
