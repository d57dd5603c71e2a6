// The rules that join several settings of `cohort adversarial-train`.
#include <algorithm>

#include "cohort/core/error.h"
#include "cohort/objectives/baseline.h"
#include "cohort/train/adversarial/adversarial_config.h"
#include "cohort/train/critic/critic_config.h"
#include "cohort/train/run/common_checks.h"

namespace cohort {
namespace {

/// What one policy's recipe asks for and these games do not have.
void check_policy(const TrainConfig& recipe) {
  const ObjectiveConfig& objective = recipe.objective;
  const ObjectiveSettings settings = resolved(objective, recipe.rollout.max_completion_length);
  const auto refuse = [](bool is_wrong, const char* what) {
    if (is_wrong) throw ConfigError(str(what, " in `cohort adversarial-train`: remove it"));
  };
  refuse(recipe.rollout.selects(),
         "rollout.dynamic_sampling, keep_generations, generation_budget and adaptive_sampling do not work");
  refuse(recipe.rollout.num_rerolls > 0, "rollout.num_rerolls (preset axpo) does not work");
  refuse(recipe.rollout.is_stale(), "rollout.prompts_ahead does not work");
  refuse(recipe.rollout.has_trees(), "rollout.tree_depth (preset treepo) does not work");
  refuse(needs_critic(settings), "objective.baseline = \"critic\" does not work");
  refuse(find_baseline(settings.advantages.baseline).reads_greedy,
         "objective.baseline with a greedy completion does not work");
  refuse(objective.control.use_demonstrations, "objective.use_demonstrations does not work");
  refuse(!objective.python.empty() || !objective.python_advantages.empty(),
         "objective.python and python_advantages do not work");
  refuse(needs_reference(settings) && !recipe.lora.path.empty(),
         "objective.beta of a policy that begins with an adapter does not work");
}

/// A step plays each attack once.
void check_opponent(const std::vector<RewardConfig>& rewards) {
  int64_t count = 0;
  for (const RewardConfig& reward : rewards) {
    if (reward.kind() != "opponent") continue;
    ++count;
    if (!reward.domains.empty())
      throw ConfigError("reward.domains: every attack is played, so that type = \"opponent\" has none");
  }
  if (count > 1) throw ConfigError("two rewards have type = \"opponent\": remove one of them");
}

void check_policy_of(const AdversarialConfig& config, PolicyRole role) {
  try {
    const TrainConfig recipe = config.recipe_of(role);
    validate(recipe);
    check_policy(recipe);
    if (role == PolicyRole::kAttacker) check_opponent(recipe.reward);
  } catch (const ConfigError& error) {
    throw ConfigError(str(to_string(role), ": ", error.what()));
  }
}

}  // namespace

void validate(const AdversarialConfig& config) {
  require(config.model.path, "model.path", "the Hugging Face directory of the base model");
  check_data(config.data);
  require(config.run.dir, "run.dir", "the directory for what the run writes (--run-dir)");
  check_length(config.train);
  if (!config.lora.path.empty()) {
    throw ConfigError(
        "lora.path: each policy has an adapter of its own; set attacker.adapter and defender.adapter");
  }
  if (config.lora.r == 0) {
    throw ConfigError(
        "lora.r is not set: the two policies are adapters on one base model; give their rank, such as "
        "lora.r = 16");
  }
  const int64_t num_attacks = config.recipe_of(PolicyRole::kDefender).rollout.prompts_per_step;
  const int64_t given = config.defender.recipe.rollout.prompts_per_step;
  if (given != RolloutConfig().prompts_per_step && given != num_attacks) {
    throw ConfigError(
        str("defender.rollout.prompts_per_step: the defender plays against every attack of the "
            "step, which are ",
            num_attacks, "; remove it"));
  }
  for (const PolicyRole role : {PolicyRole::kAttacker, PolicyRole::kDefender}) check_policy_of(config, role);
}

}  // namespace cohort
