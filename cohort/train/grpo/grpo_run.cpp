#include "cohort/train/grpo/grpo_run.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cohort/core/error.h"
#include "cohort/core/log.h"
#include "cohort/core/memory.h"
#include "cohort/dist/gradient_sum.h"
#include "cohort/dist/shards.h"
#include "cohort/objectives/credit_rule.h"
#include "cohort/reward_models/all_rewards.h"
#include "cohort/train/grpo/demonstrations.h"
#include "cohort/train/grpo/preflight.h"
#include "cohort/train/grpo/run_checks.h"
#include "cohort/train/grpo/run_sampling.h"
#include "cohort/train/grpo/step_shape.h"
#include "cohort/train/run/evaluation.h"
#include "cohort/train/run/generation_defaults.h"
#include "cohort/train/run/memory_plan.h"
#include "cohort/train/run/run_data.h"
#include "cohort/train/run/run_setup.h"
#include "cohort/train/run/same_run.h"
#include "cohort/train/run/self_test.h"

namespace cohort {
namespace {

/// A demonstration is scored alone.
void check_comparisons(const TrainConfig& config, const RewardScorer& scorer) {
  if (!config.objective.control.use_demonstrations) return;
  for (size_t i = 0; i < scorer.names().size(); ++i) {
    if (!scorer.reward(static_cast<int64_t>(i)).compares()) continue;
    throw ConfigError(str("reward ", scorer.names()[i],
                          " compares the completions of a group, and a demonstration is scored alone: take "
                          "another reward or another objective than one with demonstrations"));
  }
}

/// The critic of the objective; null where it has none.
std::unique_ptr<Critic> make_critic(const TrainConfig& config, const Decoder& policy, int64_t num_steps,
                                    StepShape& shape, dist::Group& processes) {
  if (!needs_critic(config.objective)) return nullptr;
  if (config.critic.pretrain_steps >= num_steps) {
    throw ConfigError(str("critic.pretrain_steps is ", config.critic.pretrain_steps, " and the run has ",
                          num_steps, " steps: none is left to train the policy"));
  }
  const int64_t num_updates = critic_steps(config.critic, num_steps) * GrpoTrainer::updates_per_step(config);
  CriticSetup setup = config.critic_setup();
  setup.gradient_slots = dist::SlotPlan::of(processes, config.dist.gradient_slots).num_slots;
  auto critic = std::make_unique<Critic>(setup, policy, num_updates, processes);
  if (critic->model() == nullptr) return critic;
  shape.critic = critic->model();
  const int64_t longest_sequence = shape.longest_sequence;
  if (critic->model()->config().context_length < longest_sequence) {
    throw ConfigError(str("critic.path: the model's context is ", critic->model()->config().context_length,
                          " tokens, and sequences have up to ", longest_sequence,
                          ": lower rollout.max_completion_length"));
  }
  critic->model()->plan_length(longest_sequence);
  return critic;
}

/// Held-out evaluation on the first of `prompts`; draws lie at a step that no rollout uses.
std::function<EvalRecord(int64_t)> evaluator(const TrainConfig& config, Sampler& sampler,
                                             RewardScorer& scorer, const Tokenizer& tokenizer,
                                             const DecoderConfig& model, std::vector<Prompt> prompts,
                                             int64_t num_generations, TurnHandler* turns,
                                             dist::Group& processes) {
  SamplingParams params = run_sampling(config, model, &tokenizer);
  params.temperature = config.train.temperature_eval.value_or(params.temperature);
  params.top_p = config.train.top_p_eval.value_or(params.top_p);
  return [=, &config, &sampler, &scorer, &processes, prompts = std::move(prompts)](int64_t num_prompts) {
    const std::vector<Prompt> first(prompts.begin(), prompts.begin() + num_prompts);
    const RolloutAddress address{static_cast<uint64_t>(config.seed), std::numeric_limits<uint64_t>::max(), 0};
    const Evaluation evaluation = evaluate(sampler, first, num_generations, params, scorer, address,
                                           /*on_group=*/{}, turns, processes);
    sampler.release_cache();
    return EvalRecord{evaluation.mean_reward, evaluation_metrics(evaluation)};
  };
}

/// A reference with weights of its own; null if there is none, or if it is the policy without its adapters.
std::unique_ptr<Decoder> load_reference(const TrainConfig& config, const StepShape& shape) {
  const bool is_policy = config.lora.r > 0 && config.lora.path.empty();
  if (!shape.has_reference || is_policy) return nullptr;
  auto reference = load_model(config.model, config.lora, config.seed);
  reference->plan_length(shape.longest_sequence);
  return reference;
}

/// The rewards of a run, with what they take of the memory.
std::unique_ptr<RewardScorer> make_scorer(const TrainConfig& config, const std::tm& start,
                                          const RewardTypes& more_rewards, bool has_states,
                                          StepShape& shape) {
  const int64_t resident = resident_memory_bytes();
  RewardTypes types = all_rewards({config.model.path, start});
  types.insert(types.end(), more_rewards.begin(), more_rewards.end());
  auto scorer = std::make_unique<RewardScorer>(config.reward, types);
  check_supervision(config, *scorer, has_states);
  check_comparisons(config, *scorer);
  shape.reward_bytes = scorer->memory_bytes();
  shape.loaded_reward_bytes = std::min(shape.reward_bytes, resident_memory_bytes() - resident);
  return scorer;
}

/// Whether each process has all float32 masters: a reference that moves is mixed from them.
bool has_whole_masters(const TrainConfig& config, const CallersFunctions& functions) {
  return config.objective.control.sync_ref_model || functions.read_weights;
}

AdamW make_optimizer(const TrainConfig& config, Decoder& policy, bool has_whole_masters,
                     dist::Group& processes) {
  return {policy.parameters(), config.optimizer, processes,
          has_whole_masters ? std::vector<Linear*>() : policy.packed_projections()};
}

/// The shape of a step, for whose longest sequence the policy is prepared.
StepShape plan_shape(const TrainConfig& config, Decoder& policy, const Dataset& data, bool has_episodes,
                     bool has_whole_masters, const dist::Group& processes) {
  StepShape shape = step_shape(config, policy, data, has_episodes);
  shape.gradient_copies = dist::SlotPlan::of(processes, config.dist.gradient_slots).num_copies();
  shape.num_processes = processes.size();
  shape.has_whole_masters = has_whole_masters;
  shape.exchange_bytes =
      dist::exchange_bytes(processes, policy.num_trained() * static_cast<int64_t>(sizeof(float)));
  policy.plan_length(shape.longest_sequence);
  return shape;
}

/// The format of prompts that name these tools.
TextFormat format_with_tools(const TrainConfig& config, const Tokenizer& tokenizer, const std::tm& start,
                             const Json& tools) {
  TextFormat format = text_format(tokenizer, config.model.path, start, text_settings(config));
  format.tools = tools;
  return format;
}

/// The recipe with the reward of the environment, if that gives one.
TrainConfig with_environment_reward(TrainConfig config, const EpisodeSetup& episodes) {
  episodes.add_reward(config.reward);
  return config;
}

/// Of the values of all processes.
double largest(double own, dist::Group& processes) {
  return processes.all_gather(at::full({1}, own, at::kDouble), "the comparison of sampler and trainer")
      .max()
      .item<double>();
}

/// Re-rolls begin at the mark of a call.
void check_rerolls(const TrainConfig& config, const EpisodeSetup& episodes) {
  if (config.rollout.num_rerolls == 0 || episodes.marks_calls()) return;
  throw ConfigError(
      "rollout.num_rerolls draws calls of tools anew from the mark that opens them: add a [[tool]] or an "
      "[environment] with tools, and a chat template whose calls have such a mark (not llama3 or json)");
}

/// Each process calls a loss on its share of a mini-batch, and advantages belong to the whole batch.
OwnFunctions shared(OwnFunctions functions, dist::Group& processes) {
  functions.advantages = called_once(std::move(functions.advantages), processes);
  return functions;
}

/// The processes, once it is known that they were started with the same recipe.
dist::Group& started_alike(dist::Group& processes, const TrainConfig& config, const ResumeOptions& options) {
  if (processes.size() > 1 && (config.agent.serve || config.agent.port != 0)) {
    throw ConfigError(str("agent.", config.agent.serve ? "serve" : "port",
                          ": each process of a run serves the policy at an endpoint of its own: set "
                          "agent.command and leave agent.port at 0, or start the run without a launcher"));
  }
  TrainConfig recipe = config;
  check_same_run(processes, {{"recipe", to_toml(settings_of(recipe))},
                             {"--resume", options.resume ? "yes" : "no"},
                             {"--accept-changed", Json(options.accept_changed).dump()}});
  return processes;
}

std::unique_ptr<Environment> environment_of(const TrainConfig& config, CallersFunctions& functions) {
  if (functions.environment != nullptr) return std::move(functions.environment);
  return make_environment(config.environment, config.tool);
}

}  // namespace

GrpoRun::Texts::Texts(const TrainConfig& config, const Decoder& policy, const std::tm& start,
                      const Json& tools)
    : tokenizer(require_tokenizer(config.model.path, policy.config())),
      format(format_with_tools(config, *tokenizer, start, tools)),
      demonstration_format{format, end_token_id(policy.config(), *tokenizer)},
      has_demonstrations(config.objective.control.use_demonstrations),
      data(open_prompts(config.data, DataPart::kTrain, format, policy.config(),
                        has_demonstrations ? demonstration_ids(demonstration_format) : DemonstrationIds())) {
  warn_unused_variables(format);
  check_stop_strings(config.rollout.stop_strings, tokenizer.get(), config.rollout.skip_special_tokens);
  check_token_ids(config.rollout.stop_token_ids, "stop_token_ids", policy.config());
  check_cache(config, data, format, policy.config());
}

GrpoRun::GrpoRun(const TrainConfig& config, const ResumeOptions& options, CallersFunctions functions,
                 dist::Group& processes)
    : processes_(started_alike(processes, config, options)),
      episodes_(environment_of(config, functions), config.environment, config.agent),
      config_(checked(with_environment_reward(config, episodes_), options)),
      own_(tried(shared(std::move(functions.own), processes_), config_.objective)),
      start_(run_start(config_.run, options, processes_)),
      policy_(load_trained_model(config_)),
      texts_(config_, *policy_, start_, episodes_.tools()),
      shape_(plan_shape(config_, *policy_, texts_.data, episodes_.is_on(),
                        has_whole_masters(config_, functions), processes_)),
      num_steps_(num_steps(config_.train.max_steps, config_.train.num_train_epochs, texts_.data.num_rows(),
                           config_.rollout.prompts_per_step)),
      prompts_(texts_.data, texts_.format, config_.seed, config_.data.shuffle_dataset,
               options.accepts("data")),
      reference_(load_reference(config_, shape_)),
      scorer_(make_scorer(config_, start_, functions.rewards, episodes_.gives_states(), shape_)),
      optimizer_(make_optimizer(config_, *policy_, shape_.has_whole_masters, processes_)),
      critic_(make_critic(config_, *policy_, num_steps_, shape_, processes_)) {
  make_trainer(std::move(functions.rollout));
  make_evaluation();
  open(options);
}

void GrpoRun::make_trainer(RolloutFunction rollout) {
  const int64_t num_updates =
      (num_steps_ - config_.critic.pretrain_steps) * GrpoTrainer::updates_per_step(config_);
  Decoder* reference = nullptr;
  if (shape_.has_reference) reference = reference_ != nullptr ? reference_.get() : policy_.get();
  check_replies(config_, episodes_.is_on() || rollout != nullptr);
  check_trees(config_, episodes_.is_on() || rollout != nullptr);
  check_ahead(config_, config_.agent.is_on() || rollout != nullptr, *scorer_);
  if (episodes_.is_on() && rollout != nullptr)
    throw ConfigError(
        "an environment or an agent and a function that samples exclude each other: remove one of them");
  episodes_.open(texts_.format, *texts_.tokenizer, policy_->config(),
                 run_sampling(config_, policy_->config(), texts_.tokenizer.get()));
  check_rerolls(config_, episodes_);
  trainer_.emplace(config_, num_updates, *policy_, reference, critic_.get(), texts_.tokenizer.get(), prompts_,
                   *scorer_, optimizer_, texts_.demonstrations(), shape_.record, own_, episodes_.turns(),
                   processes_);
  is_sampled_elsewhere_ = rollout != nullptr;
  if (is_sampled_elsewhere_) trainer_->sample_by(std::move(rollout));
}

void GrpoRun::make_evaluation() {
  if (config_.train.eval_steps == 0) return;
  eval_sampler_.emplace(*policy_, texts_.tokenizer.get(), config_.rollout.cache_tokens);
  const Dataset data = open_prompts(config_.data, DataPart::kEvaluation, texts_.format, policy_->config());
  check_cache(config_, data, texts_.format, policy_->config());
  std::vector<Prompt> prompts = all_prompts(data, texts_.format);
  add_evaluation(config_, *policy_, prompts, shape_);
  num_evaluated_ = std::ssize(prompts) * generations_eval(config_);
  const int64_t num_prompts = std::ssize(prompts);
  evaluate_first_ = evaluator(config_, *eval_sampler_, *scorer_, *texts_.tokenizer, policy_->config(),
                              std::move(prompts), generations_eval(config_), episodes_.turns(), processes_);
  evaluate_ = [this, num_prompts] { return evaluate_first_(num_prompts); };
}

int64_t GrpoRun::evaluate_first(int64_t num_completions) {
  const int64_t generations = generations_eval(config_);
  const int64_t num_prompts =
      std::clamp<int64_t>(num_completions / generations, 1, num_evaluated_ / generations);
  evaluate_first_(num_prompts);
  return num_prompts * generations;
}

Metrics GrpoRun::evaluate_on(const std::vector<std::string>& files, int64_t num_generations) {
  HeldOutRowsConfig rows = config_.data;
  rows.eval_path = files;
  const Dataset data = open_prompts(rows, DataPart::kEvaluation, texts_.format, policy_->config());
  check_cache(config_, data, texts_.format, policy_->config());
  Sampler sampler(*policy_, texts_.tokenizer.get(), config_.rollout.cache_tokens);
  std::vector<Prompt> prompts = all_prompts(data, texts_.format);
  const int64_t num_prompts = std::ssize(prompts);
  return evaluator(config_, sampler, *scorer_, *texts_.tokenizer, policy_->config(), std::move(prompts),
                   num_generations, episodes_.turns(), processes_)(num_prompts)
      .metrics;
}

void GrpoRun::open(const ResumeOptions& options) {
  if (processes_.size() > 1) {
    RunFacts facts = facts_of(settings_of(config_));
    facts.emplace_back("number of rows", std::to_string(texts_.data.num_rows()));
    check_same_run(processes_, facts);
  }
  const double difference = largest(sampler_trainer_difference(*policy_), processes_);
  if (!is_sampled_elsewhere_) check_mismatch_acts(config_, difference);
  trainer_->assume_exact(difference == 0.0);
  const MemoryPlan memory = memory_plan();
  if (policy_->device().is_cpu()) check_memory(memory, processes_.num_local());
  directory_.emplace(open_run(config_, options, start_, processes_));
  report_memory(memory, processes_.is_first() ? &*directory_ : nullptr, processes_.num_local());
  report_exactness(difference);
  for (const auto& [reward, environment] : trainer_->reward_environments())
    log_info("reward ", reward, ": ", environment);
  log_ignored_sampling_defaults(config_.model.path);
  if (config_.train.preflight && processes_.is_first() && directory_->checkpoint_steps().empty())
    check_before_first_step();
  processes_.barrier("the checks before the first step");
  open_loop(config_, options, num_steps_, optimizer_, evaluate_, processes_);
}

RunPlan GrpoRun::plan() {
  return {config_,          policy_->config(), *texts_.tokenizer,
          texts_.format,    texts_.data,       num_steps_ * GrpoTrainer::updates_per_step(config_),
          episodes_.turns()};
}

Trial GrpoRun::draw_trial() { return cohort::draw_trial(plan(), *policy_, *scorer_); }

// A run that would learn nothing leaves its directory free for another try.
void GrpoRun::check_before_first_step() {
  const std::vector<Finding> findings = findings_of(draw_trial());
  try {
    report_findings(findings);
  } catch (const ConfigError&) {
    directory_->withdraw();
    throw;
  }
}

void GrpoRun::save_more() const {
  if (critic_ != nullptr && processes_.is_first()) critic_->save(directory_->final_critic());
  processes_.barrier("the final critic");
}

int run_grpo(const TrainConfig& config, const ResumeOptions& options) {
  dist::end_with_agent();
  dist::Group processes(dist::place_of_process());
  if (!processes.is_first()) log_warnings_alone(str("rank ", processes.rank(), ": "));
  return GrpoRun(config, options, {}, processes).run();
}

}  // namespace cohort
