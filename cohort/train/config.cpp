#include "cohort/train/config.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "cohort/core/config_io.h"
#include "cohort/core/error.h"
#include "cohort/core/log.h"
#include "cohort/objectives/baseline.h"
#include "cohort/objectives/objective_advice.h"
#include "cohort/reward_models/all_rewards.h"
#include "cohort/rewards/reward_weight.h"
#include "cohort/train/config_parts.h"
#include "cohort/train/dpo_config.h"
#include "cohort/train/monitor.h"
#include "cohort/train/reward_train_config.h"

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

void refuse(bool is_asked, const char* what) {
  if (is_asked) throw ConfigError(str(what, ", which `cohort train` does not do yet"));
}

/// A reference that cannot move, and demonstrations where a step chooses among completions.
void check_controls_of_run(const TrainConfig& config) {
  const ControlConfig& control = config.objective.control;
  if (control.sync_ref_model && config.lora.r > 0)
    throw ConfigError(
        "objective.sync_ref_model: the reference of a run with adapters does not move; remove it, or remove "
        "[lora]");
  if (control.use_demonstrations && config.rollout.selects())
    throw ConfigError(
        "objective.use_demonstrations puts a demonstration into each group, which "
        "rollout.dynamic_sampling, keep_generations, adaptive_sampling and generation_budget do not expect: "
        "remove them");
}

/// What the pieces of the objective can do and this trainer lacks the means for.
void check_trainable(const TrainConfig& config) {
  const ObjectiveConfig& objective = config.objective;
  const ObjectiveSettings settings = resolved(objective, config.rollout.max_completion_length);
  const AdvantageConfig& a = settings.advantages;
  const LossConfig& c = settings.loss;
  refuse(
      find_baseline(a.baseline).is_of_states || a.credit == "turns" || c.importance_sampling_level == "turn",
      "objective.credit and importance_sampling_level by turns need completions of several turns");
  if (c.token_mean_scope == "micro_batch") {
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
  check_controls(objective.control, settings);
  check_controls_of_run(config);
  const std::vector<std::string> doubts = check_objective(settings);
  check_critic(config.critic, settings);
  for (const std::string& doubt : doubts) log_warn("objective: ", doubt);
}

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

void describe(FieldVisitor& f, LoraConfig& lora) {
  f("path", lora.path,
    "PEFT directory of an adapter to go on with, such as the `final` of an earlier run: its weights and its "
    "settings, so that no other key but `dropout` is needed. The reference is the model with that adapter.",
    OnResume::kSameFiles);
  f("r", lora.r, "Rank of the adapters; 0 trains the whole model.", at_least(0));
  f("alpha", lora.alpha, "An adapter adds alpha / r times its product.", above(0.0));
  f("dropout", lora.dropout,
    "Share of an adapter's inputs left out, in supervised training only: sampler and trainer share one "
    "forward.",
    between(0.0, 0.99));
  f("target_modules", lora.target_modules,
    "Ends of the names of the adapted modules, such as q_proj; all-linear takes all but the head.");
  f("exclude_modules", lora.exclude_modules, "Ends of names that are left out again.");
  f("use_rslora", lora.use_rslora, "Scale by alpha / sqrt(r) (arXiv:2312.03732).");
  f("use_dora", lora.use_dora, "Train the length of each output's weight, too (DoRA, arXiv:2402.09353).");
  f("rank_pattern", lora.rank_pattern, "Other ranks: regular expression of the ends of names = r.",
    at_least(1));
  f("alpha_pattern", lora.alpha_pattern, "Other alphas, in the same way.", above(0.0));
  f("modules_to_save", lora.modules_to_save,
    "Modules trained whole beside the adapters: embed_tokens, lm_head.");
}

void ModelConfig::describe(FieldVisitor& f) {
  f("path", path, "Hugging Face directory of the model to start from; required.", OnResume::kSameFiles);
  f("dtype", dtype, "Type to compute in; weights and optimizer state are kept in float32.",
    one_of({"float32", "bfloat16"}));
  f("device", device, "Where tensors live.", one_of({"cpu", "cuda"}));
  f("chat_template", chat_template, kChatTemplateMeaning);
}

void DataSourceConfig::describe(FieldVisitor& f) {
  f("path", path, "JSONL files or patterns, as in `data.path`.", OnResume::kTaken);
  f("weight", weight,
    "Share of the rows drawn, relative to the other sources'; by number of rows when unset.", above(0.0));
  f("domain", domain, "Tag: the column `domain` of these rows.");
  f("columns", columns, "As `data.columns`, whose entries hold where this has none.");
}

void DataConfig::describe(FieldVisitor& f) {
  f("path", path,
    "JSONL files, plain, gzip or zstd, or patterns such as `data/*.jsonl.gz`: a `prompt` per line; other "
    "columns reach the rewards; required unless there is a `[[data.source]]`.",
    OnResume::kTaken);
  f("eval_path", eval_path, "Held-out JSONL files of the same form, evaluated every `train.eval_steps`.",
    OnResume::kTaken);
  describe_rows(f, *this,
                "Share of the prompts, chosen by hash, that is held out and evaluated every "
                "`train.eval_steps`; adding rows moves none.");
}

void GrpoLoopConfig::describe(FieldVisitor& f) {
  f("max_steps", max_steps, kMaxStepsMeaning, at_least(1), OnResume::kTaken);
  f("num_train_epochs", num_train_epochs, kEpochsMeaning, above(0.0), OnResume::kTaken);
  f("steps_per_generation", steps_per_generation,
    "Mini-batches, each with its own update, that a step's prompts are cut into; divides prompts_per_step.",
    at_least(1));
  f("tokens_per_microbatch", tokens_per_microbatch,
    "Rows (tokens) forwarded and backpropagated at once, at most; 0: 2,560, which groups share while their "
    "activations take at most half a GiB. Bounds memory, and changes results by rounding alone.",
    at_least(0), OnResume::kTaken);
  f("recompute", recompute, kRecomputeMeaning, OnResume::kTaken);
  f("router_aux_loss_coef", router_aux_loss_coef, kAuxLossMeaning, at_least(0.0));
  describe_evaluation(f, *this, "Steps between evaluations on `data.eval_path`; 0 never evaluates.", [&] {
    f("num_generations_eval", num_generations_eval,
      "Completions of each evaluated prompt; `rollout.num_generations` when unset.", at_least(1),
      OnResume::kTaken);
    f("temperature_eval", temperature_eval,
      "Temperature of evaluations, 0 for greedy; `rollout.temperature` when unset.", at_least(0.0),
      OnResume::kTaken);
    f("top_p_eval", top_p_eval, "`top_p` of evaluations; `rollout.top_p` when unset.", above_up_to(0.0, 1.0),
      OnResume::kTaken);
  });
  f("log_completions", log_completions,
    "Write every completion to completions.jsonl, about 28 bytes a token.", OnResume::kTaken);
  f("save_steps", save_steps, kSaveStepsMeaning, at_least(0), OnResume::kTaken);
  f("save_total_limit", save_total_limit, kSaveLimitMeaning, at_least(1), OnResume::kTaken);
  f("max_nonfinite_steps", max_nonfinite_steps, kNonfiniteMeaning, at_least(1), OnResume::kTaken);
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
}

void RunConfig::describe(FieldVisitor& f) {
  f("dir", dir, "Directory for everything the run writes; required.", OnResume::kTaken);
}

void GrpoRunConfig::describe(FieldVisitor& f) {
  RunConfig::describe(f);
  f("save_batches", save_batches,
    "Keep the batch of every step in `batches/`, for `cohort replay`; otherwise the last one alone. A batch "
    "takes "
    "about 20 bytes a token.",
    OnResume::kTaken);
}

void TrainConfig::describe(FieldVisitor& f) {
  f("seed", seed, kSeedMeaning, at_least(0));
  f("model", model, kModelMeaning);
  f("lora", lora,
    "Low-rank adapters on the frozen model (arXiv:2106.09685), in PEFT's format; the run's `final` is one.");
  f("data", data, "What is trained and evaluated on.");
  f("rollout", rollout, "How completions are drawn.");
  f("reward", reward, "A reward function; the table is given once for each.");
  f("monitor", monitor,
    "A metric held against a bound, to see that a policy learns to please its rewards instead of getting "
    "better; the table is given once for each.");
  f("objective", objective, "From rewards to the loss.");
  f("critic", critic, "What learns the value of a state, where objective.baseline is critic (PPO, VAPO).");
  f("optimizer", optimizer, kOptimizerMeaning);
  f("train", train, "The loop: its length, memory, evaluation and checkpoints.");
  f("run", run, kRunMeaning);
}

void TrainConfig::apply_preset(const TrainConfig& given) {
  const Preset& preset = find_preset(given.objective.preset);
  static_cast<ObjectiveSettings&>(objective) = settings_of_preset(preset.name);
  take_loss_type(objective, preset.name, given.objective.loss.loss_type);
  std::vector<std::string> flags;
  for (const auto& [key, value] : settings_in(preset.run)) flags.push_back(str("--", key, "=", value));
  apply_flags(settings_of(*this), flags);
}

void SftDataConfig::describe(FieldVisitor& f) {
  f("path", path,
    "JSONL files, plain, gzip or zstd, or patterns: `prompt` and `completion`, or `messages`, per line; "
    "required "
    "unless there is a `[[data.source]]`.",
    OnResume::kTaken);
  describe_rows(f, *this, "Share of the prompts that is left out: those that `cohort train` would hold out.");
}

void SftLoopConfig::describe(FieldVisitor& f) {
  f("max_steps", max_steps, kMaxStepsMeaning, at_least(1), OnResume::kTaken);
  f("num_train_epochs", num_train_epochs, kEpochsMeaning, above(0.0), OnResume::kTaken);
  f("sequences_per_step", sequences_per_step, "Lines of data in each update.", at_least(1));
  f("assistant_only_loss", assistant_only_loss,
    "Learn every assistant's message of a conversation; otherwise the last one alone.");
  f("tokens_per_microbatch", tokens_per_microbatch, kMicrobatchMeaning, at_least(1), OnResume::kTaken);
  f("recompute", recompute, kRecomputeMeaning, OnResume::kTaken);
  f("router_aux_loss_coef", router_aux_loss_coef, kAuxLossMeaning, at_least(0.0));
  f("save_steps", save_steps, kSaveStepsMeaning, at_least(0), OnResume::kTaken);
  f("save_total_limit", save_total_limit, "Checkpoints kept, the newest ones.", at_least(1),
    OnResume::kTaken);
  f("max_nonfinite_steps", max_nonfinite_steps, kNonfiniteMeaning, at_least(1), OnResume::kTaken);
}

void SftConfig::describe(FieldVisitor& f) {
  f("seed", seed, kSeedMeaning, at_least(0));
  f("model", model, kModelMeaning);
  f("lora", lora,
    "Low-rank adapters on the frozen model (arXiv:2106.09685), in PEFT's format; the run's `final` is one.");
  f("data", data, "What is trained on.");
  f("optimizer", optimizer, kOptimizerMeaning);
  f("train", train, "The loop: its length, memory and checkpoints.");
  f("run", run, kRunMeaning);
}

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
  check_evaluation(config);
  if (config.rollout.prompts_per_step % config.train.steps_per_generation != 0) {
    throw ConfigError(str("rollout.prompts_per_step (", config.rollout.prompts_per_step,
                          ") must be a multiple of train.steps_per_generation (",
                          config.train.steps_per_generation, ")"));
  }
}

void validate(const SftConfig& config) {
  check_common_parts(config);
  check_length(config.train);
  check_lora(config.lora);
  if (config.lora.dropout != 0.0 && config.lora.use_dora) {
    throw ConfigError("lora.dropout does not go with lora.use_dora; set one of them");
  }
}

namespace {

std::string reward_table() {
  std::string text = "| type | keys | score |\n|---|---|---|\n";
  for (const RewardType& type : all_rewards({})) {
    std::string keys;
    for (const char letter : type.keys) keys += letter == ' ' ? std::string("`, `") : std::string(1, letter);
    text +=
        "| `" + type.name + "` | " + (keys.empty() ? "" : "`" + keys + "`") + " | " + type.meaning + " |\n";
  }
  return text;
}

}  // namespace

std::string configuration_page() {
  TrainConfig train;
  SftConfig sft;
  DpoConfig dpo;
  RewardTrainConfig reward_train;
  return "# Configuration\n\n"
         "Made by `cohort docs configuration` from the declarations in `cohort/train/config.cpp`: change it "
         "there.\n\n"
         "Settings come from defaults, then TOML files in order, then flags. A flag is the dotted key\n"
         "(`--optimizer.learning_rate 1e-5`), the key with underscores or dashes (`--run-dir DIR`) or, when "
         "unique, its\n"
         "last part (`--learning-rate 1e-5`). `--reward.0.weight 2` speaks of the first `[[reward]]`; a "
         "`[[reward]]` in a\n"
         "later file replaces all earlier ones. A flag of a list is given once for each element; in TOML a "
         "string "
         "stands for\n"
         "a list of one. A flag of a table is given once for each pair (`--columns prompt=question`). A last "
         "part "
         "that other tools\n"
         "use for another key is refused: `--lr` could mean `optimizer.learning_rate` or `critic.lr`.\n\n"
         "## `cohort train`\n" +
         to_markdown(settings_of(train)) + "\n## Types of rewards\n\n" + reward_table() +
         "\n## `cohort sft`\n" + to_markdown(settings_of(sft)) + "\n## `cohort dpo`\n" +
         to_markdown(settings_of(dpo)) + "\n## `cohort reward-train`\n" +
         to_markdown(settings_of(reward_train));
}

}  // namespace cohort
