// The rules that join several settings of `cohort train`.
#include <algorithm>
#include <set>

#include "cohort/core/error.h"
#include "cohort/core/log.h"
#include "cohort/objectives/objective_advice.h"
#include "cohort/rewards/reward_weight.h"
#include "cohort/train/grpo/monitor.h"
#include "cohort/train/grpo/own_functions.h"
#include "cohort/train/grpo/reward_balance.h"
#include "cohort/train/grpo/train_config.h"
#include "cohort/train/run/common_checks.h"
#include "cohort/train/run/evaluation.h"
#include "libs/common/nearest.h"

namespace cohort {
namespace {

void check_rewards(const std::vector<RewardConfig>& rewards) {
  if (rewards.empty()) throw ConfigError("no reward: add at least one [[reward]] with a name");
  std::set<std::string> names;
  for (const RewardConfig& reward : rewards) {
    require(reward.name, "reward.name", "every [[reward]] a name");
    if (!names.insert(reward.name).second) {
      throw ConfigError(
          str("two rewards are named \"", reward.name, "\": names must differ (use `type` for the kind)"));
    }
  }
  if (std::none_of(rewards.begin(), rewards.end(), ever_counts)) {
    throw ConfigError("every reward.weight is 0: nothing would be learnt; give one reward a weight");
  }
}

/// A reference that cannot move, and demonstrations where a step chooses among completions.
void check_controls_of_run(const TrainConfig& config) {
  const ControlConfig& control = config.objective.control;
  if (control.sync_ref_model && config.lora.r > 0)
    throw ConfigError(
        "objective.sync_ref_model: the reference of a run with adapters does not move; remove it, or remove "
        "[lora]");
  const bool compares_sums =
      config.rollout.is_adaptive() || config.rollout.is_budgeted() || config.rollout.num_rerolls > 0;
  if (control.use_policy_aware_weights && compares_sums)
    throw ConfigError(
        "objective.use_policy_aware_weights moves the weights of the rewards, whose sum "
        "rollout.adaptive_sampling, "
        "generation_budget and num_rerolls compare with positive_reward: remove one of them");
  check_reward_balance(control, config.reward);
  if (control.use_demonstrations && config.rollout.selects())
    throw ConfigError(
        "objective.use_demonstrations puts a demonstration into each group, which "
        "rollout.dynamic_sampling, keep_generations, adaptive_sampling and generation_budget do not expect: "
        "remove them");
}

/// Re-rolls of calls give tokens of one completion different advantages and add groups to a step.
void check_rerolls_of_run(const TrainConfig& config, const LossConfig& loss) {
  if (config.rollout.num_rerolls == 0) return;
  if (std::ranges::any_of(config.monitor, &MonitorConfig::masks))
    throw ConfigError(
        "monitor.action = \"mask\" would take out the completions that rollout.num_rerolls teaches: set warn "
        "or stop");
  if (config.train.steps_per_generation != 1)
    throw ConfigError(
        "rollout.num_rerolls adds groups to a step, which cannot be cut into equal mini-batches: set "
        "train.steps_per_generation = 1");
  if (config.objective.control.use_demonstrations)
    throw ConfigError(
        "rollout.num_rerolls and objective.use_demonstrations exclude each other: remove one of them");
  if (loss.surrogate == "regression" || surrogate_of(loss).traits().has_sequence_ratio ||
      loss.has_sequence_level())
    throw ConfigError(
        "rollout.num_rerolls gives the tokens before a call an advantage of their own, and "
        "objective.importance_sampling_level and surrogate want one for a completion: set "
        "importance_sampling_level = \"token\" or \"sequence_token\", and no regression");
}

/// Completions of the policy before the last update need a loss that says so.
void check_ahead_of_run(const TrainConfig& config, const LossConfig& loss) {
  if (!config.rollout.is_stale()) return;
  const auto refuse = [](bool is_wrong, const char* why) {
    if (is_wrong) throw ConfigError(str("rollout.prompts_ahead ", why));
  };
  refuse(!config.objective.python.empty(),
         "gives completions of the policy before the last update, of which objective.python is not told: "
         "remove one of them");
  const bool has_ratio = loss.importance_sampling_level != "none" && loss.surrogate != "drpo_decoupled";
  refuse(
      !loss.corrects_mismatch() && !(loss.is_anchored_to_sampler() && has_ratio),
      "trains on completions of the policy before the last update, and the loss takes all for the policy's "
      "own: set objective.ratio_anchor = \"sampler\" where the loss has a ratio, or "
      "importance_sampling_mode = \"token_truncate\"");
  refuse(config.objective.control.use_demonstrations,
         "and objective.use_demonstrations exclude each other: remove one of them");
}

/// What the pieces of the objective can do and this trainer lacks the means for.
void check_trainable(const TrainConfig& config) {
  const ObjectiveConfig& objective = config.objective;
  const ObjectiveSettings settings = resolved(objective, config.rollout.max_completion_length);
  const AdvantageConfig& a = settings.advantages;
  const LossConfig& c = settings.loss;
  if (c.aggregation_keys.token_mean.is_of_micro_batches()) {
    throw ConfigError(
        "objective.token_mean_scope = \"micro_batch\" (loss_type \"bnpo\") would let the gradient depend on "
        "how memory "
        "cuts the batch, and in `cohort train` it never does: set loss_type = \"dapo\", the mean over all "
        "tokens of "
        "the batch");
  }
  check_rollout(config.rollout, a, config.train.num_train_epochs.has_value());
  if (objective.gfpo_adaptive_difficulty && a.gfpo_k == 0)
    throw ConfigError(
        "objective.gfpo_adaptive_difficulty chooses gfpo_k by the prompt: set preset = \"gfpo\"");
  if (objective.gfpo_adaptive_difficulty && config.rollout.dynamic_sampling)
    throw ConfigError(
        "objective.gfpo_adaptive_difficulty compares a prompt with all that were drawn, of which "
        "rollout.dynamic_sampling throws the easy and the hard ones away: set one of them");
  check_replaced_keys(objective);
  check_controls(objective.control, settings);
  check_controls_of_run(config);
  check_rerolls_of_run(config, c);
  check_ahead_of_run(config, c);
  const std::vector<std::string> doubts = check_objective(settings);
  check_critic(config.critic, settings);
  for (const std::string& doubt : doubts) log_warn("objective: ", doubt);
}

/// The rules of evaluations.
void check_evaluation(const TrainConfig& config) {
  check_held_out(config.data, config.train.eval_steps);
  check_evaluation_keys(config.train);
  const GrpoLoopConfig& train = config.train;
  for (const auto& [is_set, key] : {std::pair(train.num_generations_eval.has_value(), "num_generations_eval"),
                                    {train.temperature_eval.has_value(), "temperature_eval"},
                                    {train.top_p_eval.has_value(), "top_p_eval"}}) {
    refuse_without_evaluation(is_set && train.eval_steps == 0, key);
  }
  if (train.metric_for_best_model.empty()) return;
  std::vector<std::string> rewards;
  rewards.reserve(config.reward.size());
  for (const RewardConfig& reward : config.reward) rewards.push_back(reward.name);
  const std::vector<std::string> names =
      evaluation_metric_names(rewards, train.num_generations_eval.value_or(config.rollout.num_generations));
  if (std::find(names.begin(), names.end(), train.metric_for_best_model) == names.end()) {
    throw ConfigError(str("train.metric_for_best_model: evaluations have no metric \"",
                          train.metric_for_best_model, "\"; did you mean \"",
                          nearest_name(train.metric_for_best_model, names), "\"?"));
  }
}

/// There must be something to go back to.
void check_rollbacks(const TrainConfig& config) {
  const auto monitor = std::ranges::find_if(config.monitor, &MonitorConfig::rolls_back);
  if (monitor == config.monitor.end() || config.train.save_steps > 0) return;
  throw ConfigError(
      str("monitor ", monitor->name.empty() ? monitor->metric : monitor->name,
          " goes back to checkpoints, and train.save_steps = 0 writes none before the end: set it"));
}

}  // namespace

void validate(const TrainConfig& config) {
  check_common_parts(config);
  check_length(config.train);
  check_lora(config.lora);
  if (config.lora.dropout != 0.0) {
    throw ConfigError(
        "lora.dropout must be 0 in `cohort train`: sampler and trainer share one forward without noise");
  }
  check_rewards(config.reward);
  check_trainable(config);
  check_monitors(config.monitor);
  check_rollbacks(config);
  check_evaluation(config);
  if (config.rollout.prompts_per_step % config.train.steps_per_generation != 0) {
    throw ConfigError(str("rollout.prompts_per_step (", config.rollout.prompts_per_step,
                          ") must be a multiple of train.steps_per_generation (",
                          config.train.steps_per_generation, ")"));
  }
}

}  // namespace cohort
