#include "cohort/train/grpo/train_config.h"

#include <tuple>

#include "cohort/core/config_io.h"
#include "cohort/core/error.h"
#include "cohort/core/log.h"
#include "cohort/reward_models/all_rewards.h"  // describes RewardConfig

namespace cohort {
namespace {

/// Sets what a loss_type stands for, and says so where a preset that was chosen meant something else: a flag
/// for the preset may meet a recipe that has a loss_type.
void take_loss_type(ObjectiveSettings& objective, const std::string& preset, const std::string& loss_type) {
  const LossConfig meant = objective.loss;
  objective.loss.loss_type = loss_type;
  expand_loss_type(objective.loss);
  if (preset == ObjectiveConfig().preset) return;
  for (const auto& [key, before, after] : {
           std::tuple("surrogate", meant.surrogate, objective.loss.surrogate),
           std::tuple("aggregation", meant.aggregation, objective.loss.aggregation),
       }) {
    if (before == after) continue;
    log_warn("objective.loss_type = \"", loss_type, "\" sets ", key, " to ", after, " over preset ", preset,
             "'s ", before, ": remove one of the two");
  }
}

}  // namespace

void GrpoLoopConfig::describe(FieldVisitor& f) {
  describe_length(f);
  f("steps_per_generation", steps_per_generation,
    "Mini-batches, each with its own update, that a step's prompts are cut into; divides prompts_per_step.",
    at_least(1));
  describe_memory(
      f,
      "Rows (tokens) forwarded and backpropagated at once, at most; 0: 2,560, which groups share while their "
      "activations take at most half a GiB. Bounds memory, and changes results by rounding alone.",
      at_least(0));
  describe_balance(f);
  describe_start(f, "Steps between evaluations on `data.eval_path`; 0 never evaluates.");
  f("num_generations_eval", num_generations_eval,
    "Completions of each evaluated prompt; `rollout.num_generations` when unset.", at_least(1),
    OnResume::kTaken);
  f("temperature_eval", temperature_eval,
    "Temperature of evaluations, 0 for greedy; `rollout.temperature` when unset.", at_least(0.0),
    OnResume::kTaken);
  f("top_p_eval", top_p_eval, "`top_p` of evaluations; `rollout.top_p` when unset.", above_up_to(0.0, 1.0),
    OnResume::kTaken);
  describe_choice(f);
  f("log_completions", log_completions,
    "Write every completion to completions.jsonl, about 28 bytes a token.", OnResume::kTaken);
  describe_saving(f);
  f("max_sandbox_error_share", max_sandbox_error_share,
    "Share of a reward's cells with status sandbox_error above which the run stops, after a checkpoint; 1 "
    "never stops it.",
    between(0.0, 1.0), OnResume::kTaken);
  f("max_failed_share", max_failed_share,
    "The same for all that failed: unparsed, timeout, error and sandbox_error.", between(0.0, 1.0),
    OnResume::kTaken);
  f("failed_share_window", failed_share_window,
    "Cells of a reward, the newest ones by whole steps, that these are shares of; cells that the run has not "
    "seen yet count as good.",
    at_least(1), OnResume::kTaken);
  f("preflight", preflight,
    "Before step 1, draw a few completions, refuse rewards that fail on all of them, and warn of what will "
    "go "
    "wrong. Changes no result.",
    OnResume::kTaken);
  f("max_rollbacks", max_rollbacks,
    "Times that monitors with `action = \"rollback\"` take the run back; the next alarm ends it, after a "
    "checkpoint.",
    at_least(0), OnResume::kTaken);
  f("rollback_lr_scale", rollback_lr_scale,
    "Factor of the policy's learning rate for the rest of the run, at each rollback.", above_up_to(0.0, 1.0));
}

void GrpoRunConfig::describe(FieldVisitor& f) {
  describe_dir(f);
  f("save_batches", save_batches,
    "Keep the batch of every step in `batches/`, for `cohort replay`; otherwise the last one alone. A batch "
    "takes "
    "about 20 bytes a token.",
    OnResume::kTaken);
}

void DistConfig::describe(FieldVisitor& f) {
  f("gradient_slots", gradient_slots,
    "Parts that the gradient of an update is added up in, as a binary tree: with the same number, runs on 1, "
    "2, 4 "
    "... processes write the same bytes. The number of processes times a power of two; 0 is one for each "
    "process.",
    at_least(0));
}

void TrainConfig::describe(FieldVisitor& f) {
  describe_model_sections(f, *this);
  f("data", data, "What is trained and evaluated on.");
  f("rollout", rollout, "How completions are drawn.");
  f("environment", environment, "What the policy acts in, turn by turn.");
  f("agent", agent, "Programs that play the episodes of the policy and reach it by HTTP.");
  f("tool", tool, "A tool that the policy may call; the table is given once for each.");
  f("reward", reward, "A reward function; the table is given once for each.");
  f("monitor", monitor,
    "A metric held against a bound, to see that a policy learns to please its rewards instead of getting "
    "better; the table is given once for each.");
  f("objective", objective, "From rewards to the loss.");
  f("critic", critic, "What learns the value of a state, where objective.baseline is critic (PPO, VAPO).");
  f("dist", dist, "How processes share a run that torchrun, srun or mpirun starts.");
  describe_training_sections(f, *this);
}

CriticSetup TrainConfig::critic_setup() const {
  return {.critic = critic,
          .policy_path = model.path,
          .seed = seed,
          .objective = resolved(objective, rollout.max_completion_length),
          .optimizer = optimizer,
          .tokens_per_microbatch = train.tokens_per_microbatch,
          .recompute = train.recompute};
}

void TrainConfig::apply_preset(const TrainConfig& given) {
  const Preset& preset = find_preset(given.objective.preset);
  static_cast<ObjectiveSettings&>(objective) = settings_of_preset(preset.name);
  take_loss_type(objective, preset.name, given.objective.loss.loss_type);
  std::vector<std::string> flags;
  for (const auto& [key, value] : settings_in(preset.run)) flags.push_back(str("--", key, "=", value));
  apply_flags(settings_of(*this), flags);
}

}  // namespace cohort
