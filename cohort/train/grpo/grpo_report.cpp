// What a GRPO step looks like from outside: its metrics, monitors and rows.
#include <limits>
#include <set>

#include "cohort/core/error.h"
#include "cohort/train/grpo/demonstrations.h"
#include "cohort/train/grpo/grpo_trainer.h"
#include "cohort/train/grpo/rerolls.h"
#include "cohort/train/grpo/step_metrics.h"
#include "cohort/train/grpo/step_shape.h"
#include "cohort/train/run/evaluation.h"

namespace cohort {
namespace {

Metrics completion_metrics(const Batch& batch, const RewardSummary& summary,
                           const std::vector<Checker>& checkers) {
  Metrics metrics = reward_metrics(batch, summary);
  append(metrics, length_metrics(batch.groups));
  append(metrics, evidence_metrics(batch, checkers));
  return metrics;
}

/// Refuses a metric of the user's loss that has the name of another one.
void check_names_differ(const Metrics& metrics) {
  std::set<std::string> seen;
  for (const auto& [name, value] : metrics) {
    if (!seen.insert(name).second)
      throw ConfigError(str("objective.python: the loss returns a metric \"", name,
                            "\", which each step has already: give it another name"));
  }
}

void add_reason(const std::optional<std::string>& reason, std::string& reasons) {
  if (reason) reasons += (reasons.empty() ? "" : "; ") + *reason;
}

}  // namespace

StepReport GrpoTrainer::report(const Batch& batch, const UpdateResult& result, Metrics scored_metrics) {
  StepReport report;
  const Metrics update = update_metrics(batch, result);
  monitors_.observe(update);
  MonitorReport monitors = monitors_.report(batch, checkers_);
  report.metrics = std::move(scored_metrics);
  append(report.metrics, update);
  append(report.metrics, monitors.metrics);
  report.warnings = std::move(monitors.warnings);
  if (const std::string warning = failed_episodes(batch.groups); !warning.empty())
    report.warnings.push_back(warning);
  report.stop_reason = failure_limits_.observe(batch).value_or("");
  add_reason(monitors.stop, report.stop_reason);
  add_reason(monitors.rollback, report.rollback_reason);
  report.sound_step = monitors.sound_step;
  report.unseen_step = monitors.unseen_step;
  report.completions = completion_rows(batch);
  report.is_finite = result.loss.is_finite;
  report.nonfinite = nonfinite_rows(result.loss.nonfinite);
  report.summary = summary(report.metrics);
  return report;
}

void GrpoTrainer::note_evaluation(const Metrics& metrics, StepReport& report) {
  MonitorReport monitors = monitors_.report_evaluation(metrics);
  append(report.metrics, monitors.metrics);
  report.warnings.insert(report.warnings.end(), monitors.warnings.begin(), monitors.warnings.end());
  add_reason(monitors.stop, report.stop_reason);
  add_reason(monitors.rollback, report.rollback_reason);
}

double GrpoTrainer::mean_kl(const Batch& batch, const LossResult& loss) const {
  if (objective_.advantages.puts_kl_in_reward()) return mean_reward_kl(batch.groups);
  const bool is_measured = loss.num_forwarded_tokens > 0 && !own_.loss;
  return is_measured && objective_.loss.beta != 0.0 ? loss.objective.values().at("kl")
                                                    : std::numeric_limits<double>::quiet_NaN();
}

Metrics GrpoTrainer::scored_metrics(const Batch& batch, const RewardSummary& summary) const {
  Metrics metrics;
  if (demonstration_format_ != nullptr) {
    const Batch own = without_demonstrations(batch);
    metrics = completion_metrics(own, own_summary(own, summary), checkers_);
    metrics.emplace_back("demonstration/reward", mean_demonstration_reward(batch));
  } else if (config_.rollout.num_rerolls > 0) {
    metrics = completion_metrics(without_rerolls(batch), summary, checkers_);
  } else {
    metrics = completion_metrics(batch, summary, checkers_);
  }
  if (rollout_.has_episodes()) append(metrics, episode_metrics(first_groups(batch.groups)));
  if (rollout_.has_branches()) metrics.emplace_back("episodes/mean_branches", mean_branches(batch.groups));
  append(metrics, rollout_.metrics());
  return metrics;
}

Metrics GrpoTrainer::update_metrics(const Batch& batch, const UpdateResult& result) const {
  Metrics metrics;
  if (!is_frozen_) {
    metrics = loss_metrics(result.loss, result.first_loss, config_.train.recompute);
    append(metrics, {{"grad_norm", result.grad_norm}, {"learning_rate", result.learning_rate}});
  }
  append(metrics, {{"epoch", prompts_.epoch()},
                   {"num_tokens", static_cast<double>(num_tokens_)},
                   {"skipped_steps", static_cast<double>(skipped_steps_)}});
  if (critic_ != nullptr) append(metrics, critic_->metrics(batch.groups));
  if (is_frozen_) return metrics;
  if (objective_.advantages.puts_kl_in_reward()) metrics.emplace_back("kl", mean_kl(batch, result.loss));
  append(metrics, coefficients_.metrics());
  return metrics;
}

// The names that a step will have, from a step without samples.
void GrpoTrainer::check_monitored_metrics() const {
  const Batch nothing{.reward_names = scorer_.names(), .reward_weights = scorer_.weights(1)};
  UpdateResult none;
  none.loss.objective =
      own_.loss ? own_.metrics : empty_loss_metrics(objective_.loss, coefficients_.of_update());
  if (config_.train.router_aux_loss_coef != 0.0) none.loss.aux_loss = 0.0;
  Metrics metrics = scored_metrics(nothing, {});
  append(metrics, rollout_.empty_metrics());
  append(metrics, update_metrics(nothing, none));
  if (own_.loss) check_names_differ(metrics);
  if (config_.train.eval_steps > 0) {
    const int64_t num_generations = generations_eval(config_);
    for (const std::string& name : evaluation_metric_names(scorer_.names(), num_generations))
      metrics.emplace_back(name, 0.0);
  }
  monitors_.check_metrics(metrics);
}

}  // namespace cohort
