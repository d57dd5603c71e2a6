// cohort train as a whole.
#include "cohort/train/grpo/grpo_run.h"

#include <cmath>
#include <functional>
#include <limits>
#include <memory>

#include "cohort/core/error.h"
#include "cohort/core/log.h"
#include "cohort/core/memory.h"
#include "cohort/reward_models/all_rewards.h"
#include "cohort/sampler/stop_ids.h"
#include "cohort/tasks/dataset_source.h"
#include "cohort/train/grpo/demonstrations.h"
#include "cohort/train/grpo/grpo_trainer.h"
#include "cohort/train/grpo/preflight.h"
#include "cohort/train/grpo/step_shape.h"
#include "cohort/train/run/evaluation.h"
#include "cohort/train/run/generation_defaults.h"
#include "cohort/train/run/memory_plan.h"
#include "cohort/train/run/run_data.h"
#include "cohort/train/run/run_loop.h"
#include "cohort/train/run/run_setup.h"
#include "cohort/train/run/self_test.h"

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

/// The texts and rows of a run, opened and checked against the model.
struct RunTexts {
  RunTexts(const TrainConfig& config, const Decoder& policy, const std::tm& start)
      : tokenizer(require_tokenizer(config.model.path, policy.config())),
        format(text_format(*tokenizer, config.model.path, start, text_settings(config))),
        demonstration_format{format, end_token_id(policy.config(), *tokenizer)},
        has_demonstrations(config.objective.control.use_demonstrations),
        data(
            open_prompts(config.data, DataPart::kTrain, format, policy.config(),
                         has_demonstrations ? demonstration_ids(demonstration_format) : DemonstrationIds())) {
    warn_unused_variables(format);
    check_stop_strings(config.rollout.stop_strings, tokenizer.get(), config.rollout.skip_special_tokens);
    check_token_ids(config.rollout.stop_token_ids, "stop_token_ids", policy.config());
    check_cache(config, data, format, policy.config());
  }

  const SftFormat* demonstrations() const { return has_demonstrations ? &demonstration_format : nullptr; }

  std::unique_ptr<const Tokenizer> tokenizer;
  TextFormat format;
  SftFormat demonstration_format;
  bool has_demonstrations;
  Dataset data;
};

/// A reference with weights of its own; null if there is none, or if it is the policy without its adapters.
std::unique_ptr<Decoder> load_reference(const TrainConfig& config, const StepShape& shape) {
  const bool is_policy = config.lora.r > 0 && config.lora.path.empty();
  if (!shape.has_reference || is_policy) return nullptr;
  auto reference = load_model(config.model, config.lora, config.seed);
  reference->plan_length(shape.longest_sequence);
  return reference;
}

/// The rewards of a run, with what they take of the memory.
std::unique_ptr<RewardScorer> make_scorer(const TrainConfig& config, const std::tm& start, StepShape& shape) {
  const int64_t resident = resident_memory_bytes();
  auto scorer = std::make_unique<RewardScorer>(config.reward, all_rewards({config.model.path, start}));
  check_supervision(config, *scorer);
  shape.reward_bytes = scorer->memory_bytes();
  shape.loaded_reward_bytes = std::min(shape.reward_bytes, resident_memory_bytes() - resident);
  return scorer;
}

/// The held-out prompts of a run that evaluates.
std::vector<Prompt> held_out_prompts(const TrainConfig& config, const RunTexts& texts, const Decoder& policy,
                                     StepShape& shape) {
  const Dataset data = open_prompts(config.data, DataPart::kEvaluation, texts.format, policy.config());
  check_cache(config, data, texts.format, policy.config());
  std::vector<Prompt> prompts = all_prompts(data, texts.format);
  add_evaluation(config, policy, prompts, shape);
  return prompts;
}

/// What the log says before the first step.
void report_start(const TrainConfig& config, const GrpoTrainer& trainer, double difference) {
  report_exactness(difference);
  for (const auto& [reward, environment] : trainer.reward_environments())
    log_info("reward ", reward, ": ", environment);
  log_ignored_sampling_defaults(config.model.path);
}

}  // namespace

int run_grpo(const TrainConfig& config, const ResumeOptions& options) {
  validate(config);
  check_resumed(config, options);
  const auto policy = load_model(config.model, config.lora, config.seed);
  check_router_loss(config.train.router_aux_loss_coef, policy->config());
  const std::tm start = run_start(config.run, options);
  const RunTexts texts(config, *policy, start);
  StepShape shape = step_shape(config, *policy, texts.data);
  policy->plan_length(shape.longest_sequence);
  DatasetSource prompts(texts.data, texts.format, config.seed, config.data.shuffle_dataset,
                        options.accepts("data"));
  const auto own_reference = load_reference(config, shape);
  Decoder* reference = own_reference != nullptr ? own_reference.get() : policy.get();
  const auto scorer = make_scorer(config, start, shape);
  AdamW optimizer(policy->parameters(), config.optimizer);
  const int64_t steps = num_steps(config.train.max_steps, config.train.num_train_epochs,
                                  texts.data.num_rows(), config.rollout.prompts_per_step);
  const auto critic = make_critic(config, *policy, shape.longest_sequence, steps);
  if (critic != nullptr) shape.critic = critic->model();
  const int64_t num_updates = (steps - config.critic.pretrain_steps) * GrpoTrainer::updates_per_step(config);
  GrpoTrainer trainer(config, num_updates, *policy, shape.has_reference ? reference : nullptr, critic.get(),
                      texts.tokenizer.get(), prompts, *scorer, optimizer, texts.demonstrations(),
                      shape.record);
  Sampler eval_sampler(*policy, texts.tokenizer.get(), config.rollout.cache_tokens);
  std::function<EvalRecord()> evaluate_step;
  if (config.train.eval_steps > 0)
    evaluate_step = evaluator(config, eval_sampler, *scorer, *texts.tokenizer, policy->config(),
                              held_out_prompts(config, texts, *policy, shape));
  const double difference = sampler_trainer_difference(*policy);
  check_mismatch_acts(config, difference);
  trainer.assume_exact(difference == 0.0);
  const RunDirectory run = open_run(config, options, start);
  report_memory(plan_memory(*policy, shape));
  report_start(config, trainer, difference);
  if (config.train.preflight && run.checkpoint_steps().empty())
    check_before_first_step({config, policy->config(), *texts.tokenizer, texts.format, texts.data}, *policy,
                            *scorer, run);
  RunLoop run_loop(run, loop_config(config, steps), *policy, optimizer, trainer, config.model.path,
                   std::move(evaluate_step));
  if (options.resume) {
    run_loop.resume();
    take_changes(run, config, options);
  }
  const int code = run_loop.run();
  if (code == 0 && critic != nullptr) critic->save(run.final_critic());
  return code;
}

}  // namespace cohort
