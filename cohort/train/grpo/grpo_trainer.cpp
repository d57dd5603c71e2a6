#include "cohort/train/grpo/grpo_trainer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "cohort/core/log.h"
#include "cohort/dist/gradient_sum.h"
#include "cohort/rewards/reward_weight.h"
#include "cohort/train/grpo/demonstrations.h"
#include "cohort/train/grpo/rerolls.h"
#include "cohort/train/grpo/step_metrics.h"
#include "cohort/train/run/batch_passes.h"
#include "cohort/train/run/memory_plan.h"
#include "cohort/train/run/schedule.h"
#include "cohort/train/run/self_test.h"
#include "libs/common/random.h"

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

/// Whether other weights than those after `num_updates` updates sampled a token of the batch. Demonstrations
/// have no policy.
bool is_stale(const Batch& batch, int64_t num_updates) {
  const auto is_old = [&](const TokenSpan& span) {
    return span.origin == TokenOrigin::kSampled && span.policy_version != num_updates;
  };
  bool is_stale = false;
  for_each_sequence(batch.groups, [&](const Sample& sample) {
    if (!sample.is_demonstration) is_stale |= std::ranges::any_of(sample.completion.spans, is_old);
  });
  return is_stale;
}

}  // namespace

GrpoTrainer::GrpoTrainer(const TrainConfig& config, int64_t num_updates, Decoder& policy, Decoder* reference,
                         Critic* critic, const Tokenizer* tokenizer, PromptSource& prompts,
                         RewardScorer& scorer, AdamW& optimizer, const SftFormat* demonstration_format,
                         RecordPlan recorded, OwnFunctions own, TurnHandler* turns, dist::Group& processes)
    : config_(config),
      objective_(resolved(config.objective, config.rollout.max_completion_length)),
      own_(std::move(own)),
      coefficients_(config.objective),
      num_updates_(num_updates),
      policy_(policy),
      reference_(reference, policy, config.objective.control),
      critic_(critic),
      demonstration_format_(demonstration_format),
      prompts_(prompts),
      scorer_(scorer),
      optimizer_(optimizer),
      rollout_(config, policy, tokenizer, prompts, scorer, recorded, processes),
      checkers_(find_checkers(config.reward)),
      failure_limits_(failure_limits(config)),
      monitors_(config.monitor, config.train.eval_steps),
      loss_options_{.temperature = config.rollout.temperature,
                    .tokens_per_microbatch =
                        microbatch_rows(config.train.tokens_per_microbatch, policy, config.train.recompute),
                    .recompute = config.train.recompute,
                    .router_aux_loss_coef = config.train.router_aux_loss_coef,
                    .record = &rollout_.record(),
                    .loss = own_.loss,
                    .processes = &processes,
                    .gradient_slots = dist::SlotPlan::of(processes, config.dist.gradient_slots).num_slots} {
  if (turns != nullptr) rollout_.act_in(*turns);
  check_monitored_metrics();
}

StepReport GrpoTrainer::step(int64_t index) {
  Metrics timings;
  StepTimer timer(timings);
  const ObjectiveSettings objective = begin_critic(index);

  Batch batch = collect(index, timer);                   // prompt -> rollout -> reward
  score(batch, objective, timer);                        // masks and the columns that the objective reads
  Metrics scored = credit(batch, objective.advantages);  // reward -> advantage
  timer.lap("timing_s/adv");
  const UpdateResult result = update(batch, objective.loss, timer);  // advantage -> loss -> optimizer step

  prompts_.feedback(batch);
  timer.finish(total_tokens(batch));
  StepReport step_report = report(batch, result, std::move(scored));
  step_report.timings = std::move(timings);
  step_report.batch = std::move(batch);
  return step_report;
}

Batch GrpoTrainer::collect(int64_t index, StepTimer& timer) {
  Batch batch = rollout_.collect(index, optimizer_.num_updates(), timer);
  check_record(batch);
  if (demonstration_format_ != nullptr) {
    join_demonstrations(*demonstration_format_, scorer_, batch, *loss_options_.processes);
  }
  num_tokens_ += total_tokens(batch);
  return batch;
}

void GrpoTrainer::score(Batch& batch, const ObjectiveSettings& objective, StepTimer& timer) {
  for (Group& group : batch.groups) {
    group.beta = coefficients_.beta(group.prompt);
    for_each_sequence(std::span(&group, 1), [&](Sample& sequence) {
      const bool is_truncated = sequence.completion.finish_reason == FinishReason::kLength;
      if (config_.objective.mask_truncated_completions && is_truncated) sequence.mask = LossMask::kTruncated;
    });
    for (Sample& sample : group.samples) {
      const std::optional<EpisodeRecord>& episode = sample.completion.episode;
      if (episode && !episode->failure.empty()) set_mask(sample, LossMask::kFailed);
    }
  }
  // A ratio to the sampler needs none of what the policy says since.
  const bool reads_old =
      !objective.loss.is_anchored_to_sampler() || !reader_of_old_logprobs(objective).empty();
  if (!is_exact_ || (reads_old && is_stale(batch, optimizer_.num_updates()))) {
    fill_old_logprobs(policy_, batch.groups, loss_options_);
    timer.lap("timing_s/old_log_prob");
  }
  if (const auto reference = reference_.weights()) {
    fill_ref_logprobs(*reference, batch.groups, loss_options_,
                      /*masked_too=*/objective.advantages.puts_kl_in_reward());
    timer.lap("timing_s/ref");
  }
  if (needs_entropies(objective)) {
    fill_entropies(policy_, batch.groups, loss_options_);
    timer.lap("timing_s/old_log_prob");
  }
  if (critic_phase_.share > 0.0) {
    critic_->fill_values(batch.groups);
    timer.lap("timing_s/values");
  }
}

// A sample that a monitor masks leaves its group's statistics, so that the others are not judged against it.
// The metrics show the step as it was.
Metrics GrpoTrainer::credit(Batch& batch, const AdvantageConfig& advantages) {
  if (config_.objective.gfpo_adaptive_difficulty) difficulty_.assign(batch.groups);
  RewardSummary summary = assign_credit(batch, advantages, own_.advantages);
  if (config_.rollout.num_rerolls > 0) {
    Batch first = without_rerolls(batch);
    summary = assign_credit(first, advantages, own_.advantages);
  }
  Metrics metrics = scored_metrics(batch, summary);
  monitors_.observe(metrics);
  if (monitors_.mask(batch, checkers_)) {
    Batch others = batch;
    assign_credit(others, advantages, own_.advantages);
    const std::vector<Sample*> shown = samples_by_place(std::span(batch.groups));
    const std::vector<Sample*> judged = samples_by_place(std::span(others.groups));
    for (size_t i = 0; i < shown.size(); ++i) {
      shown[i]->advantage = judged[i]->advantage;
      shown[i]->token_advantages = std::move(judged[i]->token_advantages);
    }
  }
  if (objective_.advantages.drop_pivot) take_out_pivots(batch, objective_.advantages);
  return metrics;
}

UpdateResult GrpoTrainer::update(const Batch& batch, const LossConfig& objective, StepTimer& timer) {
  UpdateResult result;
  if (is_frozen_) return result;
  if (critic_phase_.share > 0.0 && loss_options_.value_head == nullptr) {
    for_each_mini_batch(batch, [&](std::span<const Group> groups) { update_critic(groups, result); });
    timer.lap("timing_s/update_critic");
  }
  if (critic_phase_.trains_policy) {
    for_each_mini_batch(batch,
                        [&](std::span<const Group> groups) { update_policy(groups, objective, result); });
    timer.lap("timing_s/update_actor");
    coefficients_.after_step(mean_kl(batch, result.loss), num_samples(batch.groups));
    rollout_.balance().after_step(batch);
  }
  return result;
}

// An update takes what the sampler recorded instead of a forward. From time to time the trainer checks that
// it would compute the same, for one completion and at a hundredth of what the record saves.
void GrpoTrainer::check_record(const Batch& batch) {
  const ActivationRecord& record = rollout_.record();
  if (!record.holds_for(policy_)) return;
  std::vector<std::pair<const Prompt*, const Completion*>> recorded;
  int64_t rows = 0;
  for (const Group& group : batch.groups) {
    for (const Sample& sample : group.samples) {
      if (!record.find(group.prompt.token_ids, sample.completion.token_ids)) continue;
      recorded.emplace_back(&group.prompt, &sample.completion);
      rows += std::ssize(sample.completion.token_ids);
    }
  }
  if (recorded.empty()) return;
  const auto draw = [&](uint64_t of) {
    return random_unit(static_cast<uint64_t>(config_.seed), {static_cast<uint64_t>(batch.step), of});
  };
  const auto& [prompt, completion] =
      recorded[static_cast<size_t>(draw(0) * static_cast<double>(recorded.size()))];
  const int64_t own = std::ssize(prompt->token_ids) + std::ssize(completion->token_ids);
  const double saved = record.parts() == RecordedParts::kAll ? 1.0 : 0.25;  // of a forward
  const bool is_due = draw(1) * 100.0 * static_cast<double>(own) < saved * static_cast<double>(rows);
  if ((is_record_checked_ && !is_due) || agrees_with_record(policy_, record, *prompt, *completion)) {
    is_record_checked_ = true;
    return;
  }
  log_warn("step ", batch.step, ": the trainer's forward differs from what the sampler recorded of ",
           prompt->id, ": updates forward everything again from here on");
  rollout_.stop_recording();
}

ObjectiveSettings GrpoTrainer::begin_critic(int64_t index) {
  if (critic_ == nullptr) return objective_;
  critic_phase_ = critic_->begin(index);
  loss_options_.value_head = critic_->joint_head();
  return objective_in(critic_phase_, objective_, loss_options_.value_head != nullptr);
}

void GrpoTrainer::for_each_mini_batch(const Batch& batch, const MiniBatchUpdate& update) const {
  const std::span<const Group> groups(batch.groups);
  const size_t mini_batch = groups.size() / config_.train.steps_per_generation;
  for (int64_t iteration = 0; iteration < config_.objective.num_iterations; ++iteration) {
    for (size_t first = 0; first < groups.size(); first += mini_batch)
      update(groups.subspan(first, mini_batch));
  }
}

void GrpoTrainer::update_critic(std::span<const Group> mini_batch, UpdateResult& result) {
  const LossResult loss = critic_->update(mini_batch);
  if (!loss.is_finite) ++skipped_steps_;
  add_loss(loss, result.loss);
}

void GrpoTrainer::update_policy(std::span<const Group> mini_batch, const LossConfig& objective,
                                UpdateResult& result) {
  optimizer_.zero_grad();
  const bool has_head = loss_options_.value_head != nullptr;
  if (has_head) critic_->zero_grad();
  LossResult loss =
      accumulate_policy_gradient(policy_, mini_batch, objective, loss_options_, coefficients_.of_update());
  loss.objective.add(own_.metrics);  // a batch without loss tokens has no micro-batch
  // If a loss is not finite, some micro-batches have added their gradients and some have not.
  result.grad_norm = loss.is_finite ? optimizer_.grad_norm() : std::numeric_limits<double>::quiet_NaN();
  result.learning_rate = lr_scale_ * learning_rate(config_.optimizer, optimizer_.num_updates(), num_updates_);
  if (loss.is_finite && !std::isfinite(result.grad_norm)) {
    loss.is_finite = false;
    for_each_sequence(mini_batch, [&](const Sample& sample) { loss.nonfinite.push_back(sample.completion); });
  }
  if (loss.is_finite) {
    optimizer_.step(result.learning_rate, result.grad_norm);
    policy_.refresh();
    if (has_head) critic_->step();
    coefficients_.after_update(loss);
    reference_.after_update(policy_, optimizer_.num_updates());
  } else {
    ++skipped_steps_;
  }
  if (result.num_updates++ == 0) result.first_loss = loss;
  add_loss(loss, result.loss);
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
  state.update(rollout_.save());
  if (config_.objective.control.use_policy_aware_weights) state["weight_factors"] = rollout_.balance().save();
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
  rollout_.load(state);
  if (config_.objective.control.use_policy_aware_weights) rollout_.balance().load(state.at("weight_factors"));
  if (critic_ != nullptr) critic_->refresh();
  reference_.refresh();
}

void GrpoTrainer::begin_branch(int64_t count) {
  lr_scale_ = std::pow(config_.train.rollback_lr_scale, static_cast<double>(count));
  rollout_.begin_branch(count);
}

int64_t GrpoTrainer::updates_per_step(const TrainConfig& config) {
  return config.train.steps_per_generation * config.objective.num_iterations;
}

}  // namespace cohort
