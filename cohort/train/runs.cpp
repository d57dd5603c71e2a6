#include "cohort/train/runs.h"

#include <cmath>
#include <filesystem>
#include <optional>
#include <set>

#include "cohort/core/error.h"
#include "cohort/core/log.h"
#include "cohort/core/memory.h"
#include "cohort/reward_models/all_rewards.h"
#include "cohort/sampler/prompt_batches.h"
#include "cohort/sampler/stop_ids.h"
#include "cohort/tasks/dataset_source.h"
#include "cohort/train/demonstrations.h"
#include "cohort/train/evaluation.h"
#include "cohort/train/generation_defaults.h"
#include "cohort/train/grpo_trainer.h"
#include "cohort/train/memory_plan.h"
#include "cohort/train/preflight.h"
#include "cohort/train/run_data.h"
#include "cohort/train/run_loop.h"
#include "cohort/train/run_setup.h"
#include "cohort/train/self_test.h"
#include "cohort/train/sft_trainer.h"

namespace cohort {
namespace {

/// Steps that nobody judges would leave every advantage at 0.
void check_supervision(const TrainConfig& config, const RewardScorer& scorer) {
  const std::string& credit = config.objective.advantages.credit;
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
            "\" needs a [[reward]] that judges steps, such as type = \"process\", with a weight"));
  }
  if (credit == "segments" && num_weighed > 1) {
    throw ConfigError(
        "objective.credit = \"segments\" gives a token the reward of its own step alone: leave one "
        "[[reward]] "
        "a weight, or set credit = \"steps\"");
  }
}

void report_exactness(double difference) {
  if (difference == 0.0) {
    log_info("sampler and trainer agree exactly");
  } else if (!std::isfinite(difference)) {
    throw FormatError("the model's log-probabilities are not finite: its weights hold NaN or overflow");
  } else {
    log_warn("this platform is not exact: log-probabilities of sampler and trainer differ by up to ",
             difference);
  }
}

/// Refuses a correction of a mismatch that does not exist.
void check_mismatch_acts(const TrainConfig& config, double difference) {
  const LossConfig loss = resolved(config.objective, config.rollout.max_completion_length).loss;
  if (difference != 0.0 || loss.importance_sampling_mode == "none") return;
  throw ConfigError(
      str("objective.importance_sampling_mode = \"", loss.importance_sampling_mode,
          "\" has no effect: sampler and trainer agree exactly on this machine, so that every weight "
          "is 1; remove it"));
}

int64_t generations_eval(const TrainConfig& config) {
  return config.train.num_generations_eval.value_or(config.rollout.num_generations);
}

/// Lengths of prompts, in tokens.
using Lengths = std::set<int64_t>;

Lengths prompt_lengths(const Dataset& data) {
  Lengths lengths;
  for (const auto& [length, row] : data.prompt_lengths()) lengths.insert(length);
  return lengths;
}

/// Of the prompts that a step could draw, the one whose group is largest, `count` times.
struct LargestStep {
  LargestStep(const Lengths& prompt_lengths, int64_t count, int64_t num_generations,
              const TrainConfig& config, const Decoder& policy) {
    int64_t prompt_length = 0, completion_length = 0;
    for (const int64_t length : prompt_lengths) {
      const int64_t longest =
          std::min(config.rollout.max_completion_length, policy.config().context_length - length);
      longest_sequence = std::max(longest_sequence, length + longest);
      if (const int64_t group = length + num_generations * longest; count * group > rows) {
        rows = count * group;
        prompt_length = length;
        completion_length = longest;
      }
    }
    const std::vector<int64_t> step_lengths(count, prompt_length);
    if (config.rollout.ignore_eos && config.rollout.stop_token_ids.empty() && prompt_lengths.size() == 1)
      equal_groups = {count, prompt_length, completion_length - 1, num_generations};
    num_sequences = count * num_generations;
    cache_pages = config.rollout.cache_tokens > 0
                      ? config.rollout.cache_tokens / kPageRows
                      : default_cache_pages(policy.config(), policy.compute_dtype(), step_lengths,
                                            std::vector<int64_t>(count, num_generations), completion_length);
  }

  int64_t longest_sequence = 0;
  int64_t rows = 0;
  std::optional<EqualGroups> equal_groups;
  int64_t num_sequences = 0;
  int64_t cache_pages = 0;
};

StepShape step_shape(const TrainConfig& config, const Decoder& policy, const Dataset& data) {
  const RolloutConfig& rollout = config.rollout;
  const Lengths lengths = prompt_lengths(data);
  const int64_t num_prompts = rollout.prompts_per_step / config.train.steps_per_generation;
  const LargestStep drawn(lengths, rollout.prompts_per_step, rollout.num_generations, config, policy);
  const LargestStep trained(lengths, num_prompts, rollout.num_trained(), config, policy);
  const bool has_demonstrations = config.objective.control.use_demonstrations;
  const int64_t longest_demonstration = has_demonstrations ? data.longest_total() : 0;
  // One update, by the weights that sampled.
  const bool is_recorded = config.train.steps_per_generation == 1 && config.objective.num_iterations == 1 &&
                           !has_demonstrations && !config.train.recompute;
  RecordPlan record = is_recorded ? plan_record(policy, drawn.rows, rollout.most_rollouts()) : RecordPlan();
  // Of groups of several sizes the largest may be those of the longest completions.
  record.covers_step &= !rollout.is_budgeted();
  return {.longest_sequence = std::max(drawn.longest_sequence, longest_demonstration),
          .rows = trained.rows + num_prompts * longest_demonstration,
          .tokens_per_microbatch = config.train.tokens_per_microbatch,
          .largest_group = trained.rows / num_prompts + longest_demonstration,
          .equal_groups = rollout.selects() || has_demonstrations ? std::nullopt : trained.equal_groups,
          .cache_pages = drawn.cache_pages,
          .num_sequences = drawn.num_sequences,
          .record = record,
          .recompute = config.train.recompute,
          .has_reference = needs_reference(resolved(config.objective, rollout.max_completion_length)),
          .has_adapted_reference = !config.lora.path.empty()};
}

/// A batch of the evaluation, which samples more completions at once.
LargestStep evaluation_step(const TrainConfig& config, const Decoder& policy,
                            const std::vector<Prompt>& prompts) {
  const int64_t num_generations = generations_eval(config);
  const auto batch = static_cast<int64_t>(prompt_batches(prompts, num_generations).front().prompts.size());
  Lengths lengths;
  for (const Prompt& prompt : prompts) lengths.insert(static_cast<int64_t>(prompt.token_ids.size()));
  return {lengths, batch, num_generations, config, policy};
}

/// Refuses a cache that is too small for some prompt.
void check_cache(const TrainConfig& config, const Dataset& data, const TextFormat& format,
                 const DecoderConfig& model) {
  if (config.rollout.cache_tokens == 0) return;
  for (const auto& [length, row] : data.prompt_lengths()) {
    check_cache_tokens(config.rollout.cache_tokens, "rollout.cache_tokens",
                       {to_prompt(data.row(row), format)}, model, config.rollout.max_completion_length);
  }
}

StepShape step_shape(const SftConfig& config, const Dataset& data) {
  return {.longest_sequence = data.longest_total(),
          .rows = data.longest_total() * config.train.sequences_per_step,
          .tokens_per_microbatch = config.train.tokens_per_microbatch,
          .recompute = config.train.recompute};
}

/// The critic of the objective; null where it has none.
std::unique_ptr<Critic> make_critic(const TrainConfig& config, const Decoder& policy,
                                    int64_t longest_sequence, int64_t num_steps) {
  if (!needs_critic(config.objective)) return nullptr;
  if (config.critic.pretrain_steps >= num_steps) {
    throw ConfigError(str("critic.pretrain_steps is ", config.critic.pretrain_steps, " and the run has ",
                          num_steps, " steps: none is left to train the policy"));
  }
  const int64_t num_updates = critic_steps(config.critic, num_steps) * GrpoTrainer::updates_per_step(config);
  auto critic = std::make_unique<Critic>(config, policy, num_updates);
  if (critic->model() == nullptr) return critic;
  if (critic->model()->config().context_length < longest_sequence) {
    throw ConfigError(str("critic.path: the model's context is ", critic->model()->config().context_length,
                          " tokens, and sequences have up to ", longest_sequence,
                          ": lower rollout.max_completion_length"));
  }
  critic->model()->plan_length(longest_sequence);
  return critic;
}

/// Held-out evaluation for the loop; draws lie at a step that no rollout uses.
std::function<EvalRecord()> evaluator(const TrainConfig& config, Sampler& sampler, RewardScorer& scorer,
                                      const Tokenizer& tokenizer, const DecoderConfig& model,
                                      std::vector<Prompt> prompts) {
  SamplingParams params = sampling_params(config.rollout, stop_token_ids(model, &tokenizer));
  params.temperature = config.train.temperature_eval.value_or(params.temperature);
  params.top_p = config.train.top_p_eval.value_or(params.top_p);
  return [=, &config, &sampler, &scorer, prompts = std::move(prompts)] {
    const RolloutAddress address{static_cast<uint64_t>(config.seed), std::numeric_limits<uint64_t>::max(), 0};
    const Evaluation evaluation =
        evaluate(sampler, prompts, generations_eval(config), params, scorer, address);
    sampler.release_cache();
    return EvalRecord{evaluation.mean_reward, evaluation_metrics(evaluation)};
  };
}

/// Refuses a run that would learn nothing, and leaves its directory free for another try.
void check_before_first_step(const RunPlan& plan, const Decoder& policy, RewardScorer& scorer,
                             const RunDirectory& run) {
  const std::vector<Finding> findings = preflight(plan, policy, scorer);
  try {
    report_findings(findings);
  } catch (const ConfigError&) {
    run.withdraw();
    throw;
  }
}

}  // namespace

int run_grpo(const TrainConfig& config, const ResumeOptions& options) {
  validate(config);
  check_resumed(config, options);
  const auto policy = load_model(config.model, config.lora, config.seed);
  check_router_loss(config.train.router_aux_loss_coef, policy->config());
  const auto tokenizer = require_tokenizer(config.model.path, policy->config());
  const std::tm start = run_start(config.run, options);
  const TextFormat format = text_format(*tokenizer, config.model.path, start, text_settings(config));
  const SftFormat demonstration_format{format, end_token_id(policy->config(), *tokenizer)};
  const bool has_demonstrations = config.objective.control.use_demonstrations;
  const Dataset data =
      open_prompts(config.data, DataPart::kTrain, format, policy->config(),
                   has_demonstrations ? demonstration_ids(demonstration_format) : DemonstrationIds());
  warn_unused_variables(format);
  check_stop_strings(config.rollout.stop_strings, tokenizer.get(), config.rollout.skip_special_tokens);
  check_token_ids(config.rollout.stop_token_ids, "stop_token_ids", policy->config());
  check_cache(config, data, format, policy->config());
  StepShape shape = step_shape(config, *policy, data);
  policy->plan_length(shape.longest_sequence);
  DatasetSource prompts(data, format, config.seed, config.data.shuffle_dataset, options.accepts("data"));
  // The reference of new adapters is the policy without them.
  const bool has_reference = shape.has_reference;
  const bool has_own_reference = has_reference && (config.lora.r == 0 || !config.lora.path.empty());
  const auto own_reference = has_own_reference ? load_model(config.model, config.lora, config.seed) : nullptr;
  if (own_reference != nullptr) own_reference->plan_length(shape.longest_sequence);
  Decoder* reference = own_reference != nullptr ? own_reference.get()
                       : has_reference          ? policy.get()
                                                : nullptr;
  const int64_t resident = resident_memory_bytes();
  RewardScorer scorer(config.reward, all_rewards({config.model.path, start}));
  check_supervision(config, scorer);
  shape.reward_bytes = scorer.memory_bytes();
  shape.loaded_reward_bytes = std::min(shape.reward_bytes, resident_memory_bytes() - resident);
  AdamW optimizer(policy->parameters(), config.optimizer);
  const int64_t steps = num_steps(config.train.max_steps, config.train.num_train_epochs, data.num_rows(),
                                  config.rollout.prompts_per_step);
  const auto critic = make_critic(config, *policy, shape.longest_sequence, steps);
  if (critic != nullptr) shape.critic = critic->model();
  const int64_t policy_steps = steps - config.critic.pretrain_steps;
  GrpoTrainer trainer(config, policy_steps * GrpoTrainer::updates_per_step(config), *policy, reference,
                      critic.get(), tokenizer.get(), prompts, scorer, optimizer,
                      has_demonstrations ? &demonstration_format : nullptr, shape.record);
  Sampler eval_sampler(*policy, tokenizer.get(), config.rollout.cache_tokens);
  std::function<EvalRecord()> evaluate_step;
  if (config.train.eval_steps > 0) {
    const Dataset held_out_data = open_prompts(config.data, DataPart::kEvaluation, format, policy->config());
    check_cache(config, held_out_data, format, policy->config());
    std::vector<Prompt> held_out = all_prompts(held_out_data, format);
    const LargestStep evaluation = evaluation_step(config, *policy, held_out);
    shape.cache_pages = std::max(shape.cache_pages, evaluation.cache_pages);
    shape.num_sequences = std::max(shape.num_sequences, evaluation.num_sequences);
    evaluate_step =
        evaluator(config, eval_sampler, scorer, *tokenizer, policy->config(), std::move(held_out));
  }

  const double difference = sampler_trainer_difference(*policy);
  check_mismatch_acts(config, difference);
  trainer.assume_exact(difference == 0.0);
  const RunDirectory run = open_run(config, options, start);
  report_memory(plan_memory(*policy, shape));
  report_exactness(difference);
  for (const auto& [reward, environment] : trainer.reward_environments())
    log_info("reward ", reward, ": ", environment);
  log_ignored_sampling_defaults(config.model.path);
  if (config.train.preflight && run.checkpoint_steps().empty())
    check_before_first_step({config, policy->config(), *tokenizer, format, data}, *policy, scorer, run);
  const LoopConfig loop = loop_config(config, steps);
  RunLoop run_loop(run, loop, *policy, optimizer, trainer, config.model.path, std::move(evaluate_step));
  if (options.resume) {
    run_loop.resume();
    take_changes(run, config, options);
  }
  const int code = run_loop.run();
  if (code == 0 && critic != nullptr) critic->save(run.final_critic());
  return code;
}

int run_sft(const SftConfig& config, const ResumeOptions& options) {
  validate(config);
  check_resumed(config, options);
  const auto model = load_model(config.model, config.lora, config.seed);
  check_router_loss(config.train.router_aux_loss_coef, model->config());
  const auto tokenizer = require_tokenizer(config.model.path, model->config());
  const std::tm start = run_start(config.run, options);
  SftFormat format = sft_format(*tokenizer, config.model.path, model->config(), start, text_settings(config));
  format.assistant_only_loss = config.train.assistant_only_loss;
  const Dataset data = open_examples(config.data, format, model->config());
  warn_unused_variables(format.text);
  RowCursor rows(data, config.seed, config.data.shuffle_dataset, options.accepts("data"));
  const StepShape shape = step_shape(config, data);
  model->plan_length(shape.longest_sequence);
  AdamW optimizer(model->parameters(), config.optimizer);
  const int64_t steps = num_steps(config.train.max_steps, config.train.num_train_epochs, data.num_rows(),
                                  config.train.sequences_per_step);
  SftTrainer trainer(config, steps, *model, format, rows, optimizer);
  const RunDirectory run = open_run(config, options, start);
  report_memory(plan_memory(*model, shape));
  RunLoop run_loop(run, loop_config(config, steps), *model, optimizer, trainer, config.model.path);
  if (options.resume) {
    run_loop.resume();
    take_changes(run, config, options);
  }
  return run_loop.run();
}

}  // namespace cohort
