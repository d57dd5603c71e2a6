#include "cohort/train/grpo_trainer.h"

#include <cmath>

#include "cohort/train/step_metrics.h"
#include "cohort/train/stop_ids.h"

namespace cohort {

GrpoTrainer::GrpoTrainer(const TrainConfig& config, int64_t num_updates, Decoder& policy,
                         const Decoder* reference, const Tokenizer* tokenizer, PromptSource& prompts,
                         AdamW& optimizer)
    : config_(config),
      num_updates_(num_updates),
      policy_(policy),
      reference_(reference),
      prompts_(prompts),
      optimizer_(optimizer),
      sampler_(policy, tokenizer, config.rollout.cache_tokens),
      scorer_(config.reward),
      sampling_(sampling_params(config.rollout, stop_token_ids(policy.config(), tokenizer))),
      loss_options_{.temperature = config.rollout.temperature,
                    .max_completion_length = config.rollout.max_completion_length,
                    .tokens_per_microbatch = config.train.tokens_per_microbatch,
                    .recompute = config.train.recompute,
                    .router_aux_loss_coef = config.train.router_aux_loss_coef} {}

StepRecord GrpoTrainer::step(int64_t index) {
  GrpoStep step;
  StepRecord record;
  StepTimer timer(record.timings);

  rollout(index, step);  // prompt -> rollout
  timer.lap("timing_s/gen");
  for (size_t g = 0; g < step.groups.size(); ++g)
    step.rewards.push_back(scorer_.take(g));  // rollout -> reward
  timer.lap("timing_s/reward");
  assign_advantages(step);  // reward -> advantage
  timer.lap("timing_s/adv");
  if (reference_ != nullptr) {
    const AdaptersOff base(*reference_);  // where the reference is the policy itself
    fill_ref_logprobs(*reference_, step.trained, loss_options_);
    timer.lap("timing_s/ref");
  }
  const std::span<const TrainedGroup> groups(step.trained);
  const size_t mini_batch = groups.size() / config_.train.steps_per_generation;
  for (int64_t iteration = 0; iteration < config_.objective.num_iterations; ++iteration) {
    for (size_t first = 0; first < groups.size(); first += mini_batch) {
      update(groups.subspan(first, mini_batch), step);  // advantage -> loss -> step
    }
  }
  timer.lap("timing_s/update_actor");
  prompts_.feedback(step.groups, step.rewards);
  record.metrics = metrics(step);
  timer.finish(total_tokens(step.groups));
  record.completions = completion_rows(index, step.groups, step.rewards, step.totals, step.advantages);
  record.is_finite = step.loss.is_finite;
  record.nonfinite = nonfinite_rows(step.loss.nonfinite);
  record.summary = summary(record.metrics);
  return record;
}

void GrpoTrainer::rollout(int64_t index, GrpoStep& step) {
  const std::vector<Prompt> prompts = prompts_.next(config_.rollout.prompts_per_step);
  const RolloutAddress address{static_cast<uint64_t>(config_.seed), static_cast<uint64_t>(index), 0};
  const auto score = [&](int64_t group, int64_t sample, const Completion& completion) {
    scorer_.submit(group, sample, prompts[group], completion);
  };
  step.groups = sampler_.rollout(prompts, config_.rollout.num_generations, sampling_, address,
                                 optimizer_.num_updates(), score);
  num_tokens_ += total_tokens(step.groups);
}

void GrpoTrainer::assign_advantages(GrpoStep& step) {
  const int64_t group_size = config_.rollout.num_generations;
  for (const RewardMatrix& rewards : step.rewards)
    append_total_rewards(rewards, scorer_.weights(), step.totals);
  step.advantages =
      group_advantages(step.totals, group_size, parse_scale_rewards(config_.objective.scale_rewards));
  for (size_t g = 0; g < step.groups.size(); ++g) {
    TrainedGroup trained{&step.groups[g], {}};
    for (int64_t i = 0; i < group_size; ++i) {
      const Completion& completion = step.groups[g].completions[i];
      const bool is_masked =
          config_.objective.mask_truncated_completions && completion.finish_reason == FinishReason::kLength;
      trained.completions.push_back({step.advantages.values[g * group_size + i], is_masked, {}});
    }
    step.trained.push_back(std::move(trained));
  }
}

void GrpoTrainer::update(std::span<const TrainedGroup> mini_batch, GrpoStep& step) {
  optimizer_.zero_grad();
  LossResult loss = accumulate_policy_gradient(policy_, mini_batch, config_.objective, loss_options_);
  step.grad_norm = optimizer_.grad_norm();
  step.learning_rate = learning_rate(config_.optimizer, optimizer_.num_updates(), num_updates_);
  if (loss.is_finite && !std::isfinite(step.grad_norm)) {
    loss.is_finite = false;
    for (const TrainedGroup& group : mini_batch) {
      for (const Completion& completion : group.group->completions) loss.nonfinite.push_back(&completion);
    }
  }
  if (loss.is_finite) {
    optimizer_.step(step.learning_rate, step.grad_norm);
    policy_.refresh();
  } else {
    ++skipped_steps_;
  }
  if (step.num_updates++ == 0) step.first_loss = loss;
  add_loss(loss, step.loss);
}

Metrics GrpoTrainer::metrics(const GrpoStep& step) {
  Metrics metrics = reward_metrics(step.rewards, step.advantages);
  append(metrics, length_metrics(step.groups));
  append(metrics,
         loss_metrics(step.loss, step.first_loss, config_.objective.beta != 0.0, config_.train.recompute));
  append(metrics, {{"grad_norm", step.grad_norm},
                   {"learning_rate", step.learning_rate},
                   {"epoch", prompts_.epoch()},
                   {"num_tokens", static_cast<double>(num_tokens_)},
                   {"skipped_steps", static_cast<double>(skipped_steps_)}});
  return metrics;
}

Json GrpoTrainer::save() const {
  return {{"prompts", prompts_.save()}, {"num_tokens", num_tokens_}, {"skipped_steps", skipped_steps_}};
}

void GrpoTrainer::load(const Json& state) {
  prompts_.load(state.at("prompts"));
  num_tokens_ = state.at("num_tokens").get<int64_t>();
  skipped_steps_ = state.at("skipped_steps").get<int64_t>();
}

int64_t GrpoTrainer::updates_per_step(const TrainConfig& config) {
  return config.train.steps_per_generation * config.objective.num_iterations;
}

SamplingParams sampling_params(const RolloutConfig& config, std::vector<int32_t> stop_token_ids) {
  return {.temperature = config.temperature,
          .top_k = config.top_k,
          .top_p = config.top_p,
          .min_p = config.min_p,
          .max_completion_length = config.max_completion_length,
          .ignore_eos = config.ignore_eos,
          .stop_token_ids = std::move(stop_token_ids),
          .stop_strings = config.stop_strings};
}

}  // namespace cohort
