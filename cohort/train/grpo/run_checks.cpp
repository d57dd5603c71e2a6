#include "cohort/train/grpo/run_checks.h"

#include "cohort/core/error.h"
#include "cohort/objectives/credit_rule.h"

namespace cohort {

void check_supervision(const TrainConfig& config, const RewardScorer& scorer, bool has_states) {
  const std::string& credit = config.objective.advantages.credit;
  if (find_credit_rule(credit).is_of_states && !has_states) {
    throw ConfigError(str(
        "objective.credit = \"", credit,
        "\" compares turns from the same state of the environment: add an [environment] that gives states "
        "(docs/environments.md), or set another credit"));
  }
  if (credit != "steps" && credit != "segments") return;
  int64_t num_by_steps = 0, num_weighed = 0;
  for (size_t i = 0; i < scorer.weights().size(); ++i) {
    if (scorer.weights()[i] == 0.0) continue;
    num_by_steps += scorer.gives_steps()[i];
    ++num_weighed;
  }
  if (num_by_steps == 0) {
    throw ConfigError(
        str("objective.credit = \"", credit,
            "\" needs a [[reward]] that judges steps, such as type = \"process\" or \"environment\", with a "
            "weight"));
  }
  if (credit == "segments" && num_weighed > 1) {
    throw ConfigError(
        "objective.credit = \"segments\" gives a token the reward of its own step alone: leave one "
        "[[reward]] "
        "a weight, or set credit = \"steps\"");
  }
}

void check_replies(const TrainConfig& config, bool has_replies) {
  if (config.objective.loss.echo_coef == 0.0 || has_replies) return;
  throw ConfigError(
      "objective.echo_coef is the weight of a loss on an environment's replies, and there is none: add an "
      "[environment] or a [[tool]], or remove it");
}

void check_trees(const TrainConfig& config, bool is_drawn_elsewhere) {
  if (!config.rollout.has_trees() || !is_drawn_elsewhere) return;
  throw ConfigError(
      "rollout.tree_depth lets completions of one turn fork, which excludes an environment, an agent and a "
      "function that samples: remove it, or remove them");
}

void check_ahead(const TrainConfig& config, bool is_drawn_elsewhere, const RewardScorer& scorer) {
  if (!config.rollout.is_stale()) return;
  if (is_drawn_elsewhere) {
    throw ConfigError(
        "rollout.prompts_ahead lets the engine draw for the next step, and here an agent or a function "
        "draws: remove it, or remove them");
  }
  for (size_t i = 0; i < scorer.names().size(); ++i) {
    if (scorer.reward(static_cast<int64_t>(i)).num_workers() > 0) continue;
    throw ConfigError(str("rollout.prompts_ahead lets rewards work beside the engine, and reward ",
                          scorer.names()[i],
                          " is a function in its process: remove prompts_ahead, or give the function as "
                          "type = \"python\""));
  }
}

void check_mismatch_acts(const TrainConfig& config, double difference) {
  const LossConfig loss = resolved(config.objective, config.rollout.max_completion_length).loss;
  if (difference != 0.0 || loss.importance_sampling_mode == "none" || config.rollout.is_stale()) return;
  throw ConfigError(
      str("objective.importance_sampling_mode = \"", loss.importance_sampling_mode,
          "\" has no effect: sampler and trainer agree exactly on this machine, so that every weight "
          "is 1; remove it"));
}

}  // namespace cohort
