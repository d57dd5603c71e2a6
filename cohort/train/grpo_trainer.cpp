#include "cohort/train/grpo_trainer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "cohort/core/log.h"
#include "cohort/core/random.h"
#include "cohort/rewards/reward_weight.h"
#include "cohort/train/experts.h"
#include "cohort/train/memory_plan.h"
#include "cohort/train/schedule.h"
#include "cohort/train/self_test.h"
#include "cohort/train/step_advantages.h"
#include "cohort/train/step_metrics.h"

namespace cohort {
namespace {

FailureLimits failure_limits(const TrainConfig& config) {
  std::vector<std::string> names;
  std::vector<bool> counts;
  for (const RewardConfig& reward : config.reward) {
    names.push_back(reward.name);
    counts.push_back(ever_counts(reward));
  }
  return FailureLimits({.max_sandbox_error_share = config.train.max_sandbox_error_share,
                        .max_failed_share = config.train.max_failed_share,
                        .window = config.train.failed_share_window},
                       std::move(names), std::move(counts));
}

Metrics completion_metrics(const ScoredStep& step, const Advantages& advantages,
                           const std::vector<double>& weights) {
  Metrics metrics = reward_metrics(step.rewards, step.totals, advantages, weights);
  append(metrics, length_metrics(step.groups));
  append(metrics, evidence_metrics(step));
  return metrics;
}

}  // namespace

GrpoTrainer::GrpoTrainer(const TrainConfig& config, int64_t num_updates, Decoder& policy, Decoder* reference,
                         Critic* critic, const Tokenizer* tokenizer, PromptSource& prompts,
                         RewardScorer& scorer, AdamW& optimizer, const SftFormat* expert_format,
                         RecordPlan recorded)
    : config_(config),
      objective_(resolved(config.objective, config.rollout.max_completion_length)),
      coefficients_(config.objective),
      num_updates_(num_updates),
      policy_(policy),
      reference_(reference, config.objective.control),
      critic_(critic),
      expert_format_(expert_format),
      prompts_(prompts),
      scorer_(scorer),
      optimizer_(optimizer),
      rollout_(config, policy, tokenizer, prompts, scorer, recorded),
      checkers_(find_checkers(config.reward)),
      failure_limits_(failure_limits(config)),
      monitors_(config.monitor),
      loss_options_{.temperature = config.rollout.temperature,
                    .tokens_per_microbatch =
                        microbatch_rows(config.train.tokens_per_microbatch, policy, config.train.recompute),
                    .recompute = config.train.recompute,
                    .router_aux_loss_coef = config.train.router_aux_loss_coef,
                    .record = &rollout_.record()} {
  check_monitored_metrics();
}

StepRecord GrpoTrainer::step(int64_t index) {
  GrpoStep step;
  StepRecord record;
  StepTimer timer(record.timings);

  const CriticPhase phase = begin_critic(index);
  static_cast<ScoredRollout&>(step) = rollout_.draw(index, optimizer_.num_updates(), timer);
  check_record(index, step);
  if (expert_format_ != nullptr) join_experts(*expert_format_, scorer_, step);
  num_tokens_ += step.num_tokens;
  prepare(step);
  if (const Decoder* reference = reference_.decoder()) {
    std::optional<AdaptersOff> base;
    if (reference == &policy_) base.emplace(*reference);
    fill_ref_logprobs(*reference, step.trained, loss_options_,
                      /*masked_too=*/objective_.advantages.puts_kl_in_reward());
    timer.lap("timing_s/ref");
  }
  if (needs_entropies(objective_)) {
    fill_entropies(policy_, step.trained, loss_options_);
    timer.lap("timing_s/old_log_prob");
  }
  if (phase.share > 0.0) {
    critic_->fill_values(step.trained);
    timer.lap("timing_s/values");
  }
  assign_advantages(step);  // reward -> advantage
  timer.lap("timing_s/adv");
  if (phase.share > 0.0 && loss_options_.value_head == nullptr) {
    for_each_mini_batch(step, &GrpoTrainer::update_critic);
    timer.lap("timing_s/update_critic");
  }
  if (phase.trains_policy) {
    for_each_mini_batch(step, &GrpoTrainer::update);  // advantage -> loss -> step
    timer.lap("timing_s/update_actor");
    coefficients_.after_step(mean_kl(step), std::ssize(step.totals.values));
  }
  prompts_.feedback(step.groups, step.rewards);
  timer.finish(step.num_tokens);
  fill_record(index, step, record);
  return record;
}

// An update takes what the sampler recorded in place of a forward. That it would compute the same is checked
// of one completion now and then, at a hundredth of what that saves.
void GrpoTrainer::check_record(int64_t index, const GrpoStep& step) {
  ActivationRecord& record = rollout_.record();
  if (!record.holds_for(policy_)) return;
  std::vector<std::pair<const RolloutGroup*, const Completion*>> recorded;
  int64_t rows = 0;
  for (const RolloutGroup& group : step.groups) {
    for (const Completion& completion : group.completions) {
      if (completion.recorded.completion < 0) continue;
      recorded.emplace_back(&group, &completion);
      rows += std::ssize(completion.token_ids);
    }
  }
  if (recorded.empty()) return;
  const auto draw = [&](uint64_t of) {
    return random_unit(static_cast<uint64_t>(config_.seed), {static_cast<uint64_t>(index), of});
  };
  const auto& [group, completion] =
      recorded[static_cast<size_t>(draw(0) * static_cast<double>(recorded.size()))];
  const int64_t own = std::ssize(group->prompt.token_ids) + std::ssize(completion->token_ids);
  const double saved = record.parts() == RecordedParts::kAll ? 1.0 : 0.25;  // of a forward
  const bool is_due = draw(1) * 100.0 * static_cast<double>(own) < saved * static_cast<double>(rows);
  if ((is_record_checked_ && !is_due) || agrees_with_record(policy_, record, group->prompt, *completion)) {
    is_record_checked_ = true;
    return;
  }
  log_warn("step ", index + 1, ": the trainer's forward differs from what the sampler recorded of ",
           group->prompt.id, ": updates forward everything again from here on");
  rollout_.stop_recording();
}

// Without a critic the share of one is 0.
CriticPhase GrpoTrainer::begin_critic(int64_t index) {
  if (critic_ == nullptr) return {.share = 0.0};
  const CriticPhase phase = critic_->begin(index, objective_);
  loss_options_.value_head = critic_->joint_head();
  return phase;
}

double GrpoTrainer::mean_kl(const GrpoStep& step) const {
  if (objective_.advantages.puts_kl_in_reward()) return mean_reward_kl(step.trained);
  const bool has_tokens = step.loss.num_forwarded_tokens > 0;
  return has_tokens && objective_.loss.beta != 0.0 ? step.loss.objective.values().at("kl")
                                                   : std::numeric_limits<double>::quiet_NaN();
}

// What the update and the passes before it know of the completions; advantages follow.
void GrpoTrainer::prepare(GrpoStep& step) {
  for (const RewardMatrix& rewards : step.rewards) append_total_rewards(rewards, step.weights, step.totals);
  size_t index = 0;
  for (const RolloutGroup& group : step.groups) {
    TrainedGroup trained{.group = &group, .completions = {}, .beta = coefficients_.beta(group.prompt)};
    for (const Completion& completion : group.completions) {
      const bool is_truncated =
          config_.objective.mask_truncated_completions && completion.finish_reason == FinishReason::kLength;
      trained.completions.push_back({.is_masked = is_truncated});
      if (step.totals.valid[index]) trained.completions.back().reward = step.totals.values[index];
      ++index;
    }
    if (expert_format_ != nullptr) trained.completions.back().is_expert = true;
    step.trained.push_back(std::move(trained));
  }
}

void GrpoTrainer::assign_advantages(GrpoStep& step) {
  if (config_.objective.gfpo_adaptive_difficulty)
    step.group_k = difficulty_.take(step.totals, group_ends_of(step.trained));
  step.advantages = advantages(step, step.totals);
  step.scored_metrics = scored_metrics(step);
  mask(step);
  size_t index = 0;
  for (TrainedGroup& group : step.trained) {
    for (TrainedCompletion& trained : group.completions) {
      trained.advantage = step.advantages.values[index];
      if (!step.advantages.tokens.empty()) trained.token_advantages = step.advantages.tokens[index];
      if (!step.advantages.returns.empty()) trained.returns = step.advantages.returns[index];
      if (step.masked[index] != 0) trained.is_masked = true;
      ++index;
    }
  }
}

// What is masked leaves its group's statistics, too: others are not judged against it. The metrics show the
// step as it was.
void GrpoTrainer::mask(GrpoStep& step) {
  monitors_.observe(step.scored_metrics);
  step.masked = monitors_.mask(scored(step));
  if (std::count(step.masked.begin(), step.masked.end(), 1) == 0) return;
  TotalRewards kept = step.totals;
  for (size_t i = 0; i < kept.valid.size(); ++i) {
    if (step.masked[i] != 0) kept.valid[i] = 0;
  }
  Advantages others = advantages(step, kept);
  step.advantages.values = std::move(others.values);
  step.advantages.tokens = std::move(others.tokens);
}

Advantages GrpoTrainer::advantages(const GrpoStep& step, const TotalRewards& totals) const {
  return step_advantages(
      {step.trained, step.rewards, step.weights, scorer_.gives_steps(), totals, step.untrained, step.group_k},
      objective_.advantages);
}

void GrpoTrainer::for_each_mini_batch(GrpoStep& step,
                                      void (GrpoTrainer::*update)(std::span<const TrainedGroup>, GrpoStep&)) {
  const std::span<const TrainedGroup> groups(step.trained);
  const size_t mini_batch = groups.size() / config_.train.steps_per_generation;
  for (int64_t iteration = 0; iteration < config_.objective.num_iterations; ++iteration) {
    for (size_t first = 0; first < groups.size(); first += mini_batch)
      (this->*update)(groups.subspan(first, mini_batch), step);
  }
}

void GrpoTrainer::update_critic(std::span<const TrainedGroup> mini_batch, GrpoStep& step) {
  const LossResult loss = critic_->update(mini_batch);
  if (!loss.is_finite) ++skipped_steps_;
  add_loss(loss, step.loss);
}

void GrpoTrainer::update(std::span<const TrainedGroup> mini_batch, GrpoStep& step) {
  optimizer_.zero_grad();
  const bool has_head = loss_options_.value_head != nullptr;
  if (has_head) critic_->zero_grad();
  LossResult loss = accumulate_policy_gradient(policy_, mini_batch, objective_.loss, loss_options_,
                                               coefficients_.of_update());
  // Of a loss that is not finite some micro-batches have added their gradients and some have not.
  step.grad_norm = loss.is_finite ? optimizer_.grad_norm() : std::numeric_limits<double>::quiet_NaN();
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
    if (has_head) critic_->step();
    coefficients_.after_update(loss);
    reference_.after_update(policy_, optimizer_.num_updates());
  } else {
    ++skipped_steps_;
  }
  if (step.num_updates++ == 0) step.first_loss = loss;
  add_loss(loss, step.loss);
}

Metrics GrpoTrainer::scored_metrics(const GrpoStep& step) const {
  Metrics metrics;
  if (expert_format_ != nullptr) {
    const OwnCompletions own = own_completions(step, step.totals, step.advantages);
    metrics = completion_metrics({own.groups, own.rewards, own.totals, own.advantages.zero_std, checkers_},
                                 own.advantages, step.weights);
    metrics.emplace_back("expert/reward", own.expert_reward);
  } else {
    metrics = completion_metrics(scored(step), step.advantages, step.weights);
  }
  append(metrics, step.metrics);
  return metrics;
}

Metrics GrpoTrainer::update_metrics(const GrpoStep& step) const {
  Metrics metrics = loss_metrics(step.loss, step.first_loss, config_.train.recompute);
  append(metrics, {{"grad_norm", step.grad_norm},
                   {"learning_rate", step.learning_rate},
                   {"epoch", prompts_.epoch()},
                   {"num_tokens", static_cast<double>(num_tokens_)},
                   {"skipped_steps", static_cast<double>(skipped_steps_)}});
  if (critic_ != nullptr) append(metrics, critic_->metrics(step.trained));
  if (objective_.advantages.puts_kl_in_reward()) metrics.emplace_back("kl", mean_kl(step));
  append(metrics, coefficients_.metrics());
  return metrics;
}

void GrpoTrainer::fill_record(int64_t index, const GrpoStep& step, StepRecord& record) {
  const Metrics update = update_metrics(step);
  monitors_.observe(update);
  MonitorReport report = monitors_.report(scored(step));
  record.metrics = step.scored_metrics;
  append(record.metrics, update);
  append(record.metrics, report.metrics);
  record.warnings = std::move(report.warnings);
  record.stop_reason = failure_limits_.observe(drawn_rewards(step)).value_or("");
  if (report.stop) record.stop_reason += (record.stop_reason.empty() ? "" : "; ") + *report.stop;
  record.completions = completion_rows(index, step.groups, step.rewards, step.totals, step.advantages);
  for (size_t i = 0; i < step.masked.size(); ++i) {
    if (step.masked[i] != 0) record.completions[i]["masked"] = true;
  }
  for (size_t i = 0; const TrainedGroup& group : step.trained) {
    for (const TrainedCompletion& trained : group.completions) {
      if (trained.is_expert) record.completions[i]["expert"] = true;
      ++i;
    }
  }
  append_untrained_rows(index, step, record.completions);
  record.is_finite = step.loss.is_finite;
  record.nonfinite = nonfinite_rows(step.loss.nonfinite);
  record.summary = summary(record.metrics);
}

ScoredStep GrpoTrainer::scored(const GrpoStep& step) const {
  return {step.groups, step.rewards, step.totals, step.advantages.zero_std, checkers_};
}

// The names that a step will have, from one without completions.
void GrpoTrainer::check_monitored_metrics() const {
  GrpoStep nothing;
  nothing.rewards.emplace_back(0, scorer_.names());
  nothing.metrics = rollout_.empty_metrics();
  nothing.weights = scorer_.weights(1);
  nothing.loss.objective = empty_loss_metrics(objective_.loss, coefficients_.of_update());
  if (config_.train.router_aux_loss_coef != 0.0) nothing.loss.aux_loss = 0.0;
  Metrics metrics = scored_metrics(nothing);
  append(metrics, update_metrics(nothing));
  monitors_.check_metrics(metrics);
}

std::vector<TrainedPart> GrpoTrainer::more_parts() {
  std::vector<TrainedPart> parts;
  if (critic_ != nullptr) parts.push_back(critic_->part());
  if (const auto part = reference_.part()) parts.push_back(*part);
  return parts;
}

Json GrpoTrainer::save() const {
  Json state{{"prompts", prompts_.save()},
             {"num_tokens", num_tokens_},
             {"skipped_steps", skipped_steps_},
             {"coefficients", coefficients_.save()},
             {"failures", failure_limits_.save()},
             {"monitors", monitors_.save()},
             {"reward_environments", scorer_.environments()}};
  if (config_.objective.gfpo_adaptive_difficulty) state["group_difficulty"] = difficulty_.save();
  if (config_.rollout.is_budgeted()) state["success_rates"] = rollout_.save();
  return state;
}

void GrpoTrainer::load(const Json& state) {
  prompts_.load(state.at("prompts"));
  num_tokens_ = state.at("num_tokens").get<int64_t>();
  skipped_steps_ = state.at("skipped_steps").get<int64_t>();
  coefficients_.load(state.at("coefficients"));
  failure_limits_.load(state.at("failures"));
  monitors_.load(state.at("monitors"));
  if (config_.objective.gfpo_adaptive_difficulty) difficulty_.load(state.at("group_difficulty"));
  if (config_.rollout.is_budgeted()) rollout_.load(state.at("success_rates"));
  if (critic_ != nullptr) critic_->refresh();
  reference_.refresh();
}

int64_t GrpoTrainer::updates_per_step(const TrainConfig& config) {
  return config.train.steps_per_generation * config.objective.num_iterations;
}

}  // namespace cohort
