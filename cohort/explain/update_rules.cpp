// Rules about updates: the KL divergence, the gradient, clipping, exactness and the critic.
#include <algorithm>
#include <cmath>

#include "cohort/core/error.h"
#include "cohort/explain/rules.h"

namespace cohort {
namespace {

constexpr double kHighKl = 1.0;          // nats a token; healthy runs stay below 0.5
constexpr double kRunawayKl = 5.0;       // the reference says nothing any more
constexpr double kGradientGrowth = 8.0;  // falling entropy alone makes a norm two or three times as large
constexpr double kNoGradient = 1e-9;     // what masked batches have is exactly 0
constexpr double kMostSteps = 0.9;
constexpr double kManySkipped = 0.05;   // of all steps
constexpr double kOftenClipped = 0.25;  // healthy is below 0.2
constexpr double kMostlyClipped = 0.5;
constexpr double kRoundingDifference = 1e-3;  // nats: what other kernels of the same model come to
constexpr size_t kLateCritic = 30;            // steps after which a critic should know something

/// The part of a curve in which the policy is trained: not the steps for the critic alone.
Curve after_critic_start(const RuleInput& run, const Curve& curve) {
  return curve.from(static_cast<int64_t>(run.number("critic.pretrain_steps", 0.0)) + 1);
}

}  // namespace

namespace rules {

std::vector<RunFinding> kl_runaway(const RuleInput& run) {
  const Curve kl = run.curve("kl");
  if (!run.is_policy() || kl.size() < kFewestSteps) return {};
  const CurveWindow first = kl.first(), last = kl.last();
  if (last.median < kHighKl) return {};
  return {finding(last.median >= kRunawayKl ? FindingLevel::kProblem : FindingLevel::kWarning,
                  str("the KL divergence to the reference is ", figure(last.mean), " nats a token in ",
                      steps_text(last), ", and was ", figure(first.mean), " in ", steps_text(first)),
                  str("lower ", run.named("optimizer.learning_rate"), ", raise ", run.named("objective.beta"),
                      ", or set ", run.named("objective.use_adaptive_beta", "true")),
                  {evidence_of("kl", first), evidence_of("kl", last)})};
}

std::vector<RunFinding> gradient_growth(const RuleInput& run) {
  const Curve norm = after_critic_start(run, run.curve("grad_norm"));
  if (!run.is_policy() || norm.size() < 2 * kFewestSteps) return {};
  const CurveWindow first = norm.window(0, norm.size() / 3), last = norm.last();
  if (last.median < kGradientGrowth * first.median || first.median <= 0.0 ||
      norm.quarter(2).median > last.median)
    return {};
  return {finding(FindingLevel::kWarning,
                  str("the gradient's norm grew from ", figure(first.median), " in ", steps_text(first),
                      " to ", figure(last.median), " in ", steps_text(last)),
                  str("lower ", run.named("optimizer.learning_rate"), ", and keep ",
                      run.named("optimizer.max_grad_norm"), " at 1 or below"),
                  {evidence_of("grad_norm", first), evidence_of("grad_norm", last)})};
}

std::vector<RunFinding> gradient_vanished(const RuleInput& run) {
  const Curve norm = after_critic_start(run, run.curve("grad_norm"));
  if (!is_certain(run, norm.size())) return {};
  const auto num_zero =
      std::ranges::count_if(norm.values(), [](double value) { return std::abs(value) < kNoGradient; });
  if (static_cast<double>(num_zero) < kMostSteps * static_cast<double>(norm.size())) return {};
  const Curve zero = run.curve("frac_reward_zero_std");
  if (!zero.is_empty() && run.compares_groups() && zero.all().mean > kMostSteps) return {};
  return {finding(
      FindingLevel::kProblem,
      str("the gradient is 0 in ", num_zero, " of ", norm.size(), " steps",
          zero.is_empty()
              ? ""
              : str(", although rewards differ in ", percent(1.0 - zero.all().mean), " of the groups")),
      run.is_policy() ? str("see what masks the completions (`masked` in completions.jsonl): ",
                            run.named("objective.mask_truncated_completions"),
                            ", a [[monitor]] with action = \"mask\", or failed environments")
                      : str("see whether anything is trained: ", run.named("optimizer.learning_rate"),
                            " and the data's completions"),
      {evidence_of("grad_norm", norm.all())},
      samples_of(run.newest_completions(
          3, [](const CompletionEntry& entry) { return (entry.flags & kIsMasked) != 0; })))};
}

std::vector<RunFinding> nonfinite_updates(const RuleInput& run) {
  const Curve skipped = run.curve("skipped_steps");
  if (skipped.is_empty() || skipped.values().back() < 1.0) return {};
  const double count = skipped.values().back(), share = count / static_cast<double>(skipped.size());
  const auto first = std::ranges::find_if(skipped.values(), [](double value) { return value > 0.0; });
  const int64_t step = skipped.steps()[static_cast<size_t>(first - skipped.values().begin())];
  return {finding(
      share >= kManySkipped ? FindingLevel::kProblem : FindingLevel::kWarning,
      str(figure(count),
          " updates were skipped because the loss or the gradient was not finite, first at step ", step),
      str("read nonfinite-*.jsonl in the run's directory; lower ", run.named("optimizer.learning_rate"),
          " and ", run.named("optimizer.max_grad_norm"),
          run.text("model.dtype") == "bfloat16" ? ", or set model.dtype = \"float32\"" : ""),
      {{"skipped_steps", skipped.steps().back(), count}})};
}

std::vector<RunFinding> clip_too_often(const RuleInput& run) {
  const Curve clipped = run.curve("clip_ratio/region_mean");
  // Bounds of a sequence's ratio are narrow, and clip a third of the tokens in healthy runs.
  const bool is_of_tokens = !run.text("objective.importance_sampling_level").starts_with("sequence");
  if (!run.is_policy() || clipped.size() < kFewestSteps || !is_of_tokens) return {};
  const CurveWindow late = clipped.last_half();
  if (late.median < kOftenClipped) return {};
  return {finding(
      late.median >= kMostlyClipped ? FindingLevel::kProblem : FindingLevel::kWarning,
      str(percent(late.mean), " of the tokens in ", steps_text(late), " are clipped and give no gradient"),
      str("lower ", run.named("optimizer.learning_rate"), ", ", run.named("objective.num_iterations"), " or ",
          run.named("train.steps_per_generation"), ", or raise ", run.named("objective.epsilon")),
      {evidence_of("clip_ratio/region_mean", late)})};
}

std::vector<RunFinding> inexact_sampler(const RuleInput& run) {
  constexpr const char* kDifference = "sampling/sampling_logp_difference/max";
  const Curve difference = run.curve(kDifference);
  if (!run.is_policy() || difference.is_empty() || run.number("rollout.prompts_ahead", 0.0) > 0.0) return {};
  const double largest = std::ranges::max(difference.values());
  if (largest == 0.0) return {};
  const CurveWindow all = difference.all();
  return {finding(largest >= kRoundingDifference ? FindingLevel::kWarning : FindingLevel::kNote,
                  str("sampler and trainer differ by up to ", figure(largest),
                      " nats in a token's log-probability: this platform is not exact"),
                  str("read the run's first warning, and report the machine; until then change ",
                      run.named("objective.importance_sampling_mode"),
                      " to \"token_truncate\" if the difference is large"),
                  {{kDifference, all.last_step, largest}})};
}

std::vector<RunFinding> value_function_useless(const RuleInput& run) {
  constexpr const char* kExplained = "critic/vf_explained_var";
  const Curve explained = run.curve(kExplained);
  if (!run.is_policy() || explained.size() < kLateCritic) return {};
  const CurveWindow late = explained.last_half();
  if (late.mean > 0.0 || late.median > 0.0 || explained.last().mean > 0.0) return {};
  const CurveTrend trend = explained.trend();
  if (trend.change > 3.0 * trend.error) return {};  // it is learning
  return {finding(FindingLevel::kWarning,
                  str("the critic explains nothing of the returns: explained variance is ", figure(late.mean),
                      " in ", steps_text(late)),
                  str("raise ", run.named("critic.lr"), " or ", run.named("critic.pretrain_steps"),
                      ", or leave the critic out by objective.baseline = \"group_mean\""),
                  {evidence_of(kExplained, late)})};
}

}  // namespace rules
}  // namespace cohort
