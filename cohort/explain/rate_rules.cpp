// Rules about the learning rate.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "cohort/core/error.h"
#include "cohort/explain/rules.h"

namespace cohort {
namespace {

constexpr double kGradientPeak = 8.0;  // of the median norm
constexpr double kKlOfStep = 0.1;      // nats a token that one step adds
constexpr double kClipShare = 0.3;
constexpr double kFarRatio = 100.0;
constexpr size_t kFewestSigns = 2;  // one alone has other causes, too
constexpr double kFlatScore = 3.0;

double total_rate(const RuleInput& run) { return run.curve("learning_rate").sum(); }

/// The largest value above the median of those that are not 0; 1 if there are too few.
double peak_over_median(const Curve& curve) {
  std::vector<double> positive;
  std::ranges::copy_if(curve.values(), std::back_inserter(positive),
                       [](double value) { return value > 0.0; });
  if (positive.size() < Curve::kFewestInWindow) return 1.0;
  std::ranges::sort(positive);
  return positive.back() / positive[positive.size() / 2];
}

/// The most that one step adds to the next; 0 for fewer than two.
double steepest_rise(const Curve& curve) {
  double most = 0.0;
  for (size_t i = 1; i < curve.size(); ++i) most = std::max(most, curve.values()[i] - curve.values()[i - 1]);
  return most;
}

/// Where a curve changes most by a factor within a few steps.
struct Jump {
  CurveWindow before, after;
  double factor = 1.0;
};

Jump largest_jump(const Curve& curve, double least) {
  constexpr size_t kShort = 2;
  Jump largest;
  for (size_t i = 1; i + kShort <= curve.size(); ++i) {
    const CurveWindow before = curve.window(i - std::min(i, kShort), i), after = curve.window(i, i + kShort);
    const double high = std::max(before.mean, after.mean),
                 low = std::max(1e-3, std::min(before.mean, after.mean));
    if (high - low < least || high / low <= largest.factor) continue;
    largest = {before, after, high / low};
  }
  return largest;
}

/// Signs that single updates move the policy far, each with its figures.
struct Signs {
  std::vector<std::string> texts{};
  std::vector<MetricEvidence> metrics{};

  void add(std::string text, MetricEvidence metric) {
    texts.push_back(std::move(text));
    metrics.push_back(std::move(metric));
  }
};

void add_jump(const RuleInput& run, const char* metric, const char* what, double least_factor, double least,
              Signs& signs) {
  const Jump jump = largest_jump(run.curve(metric), least);
  if (jump.factor < least_factor) return;
  signs.add(str(what, " went from ", figure(jump.before.mean), " to ", figure(jump.after.mean), " between ",
                steps_text(jump.before), " and ", steps_text(jump.after)),
            evidence_of(metric, jump.after));
}

/// The step after which no group differs any more, although some did before.
void add_end_of_differences(const RuleInput& run, Signs& signs) {
  const Curve zero = run.curve("frac_reward_zero_std");
  const auto last =
      std::find_if(zero.values().rbegin(), zero.values().rend(), [](double share) { return share < 1.0; });
  const auto num_before = static_cast<size_t>(zero.values().rend() - last);
  if (num_before == 0 || zero.size() - num_before < kFewestSteps || num_before > zero.size() / 2) return;
  signs.add(str("no group's rewards differ after step ", zero.steps()[num_before - 1]),
            evidence_of("frac_reward_zero_std", zero.last()));
}

Signs signs_of_large_updates(const RuleInput& run) {
  Signs signs;
  add_jump(run, "entropy", "entropy", thresholds::kEntropyJump, thresholds::kLeastEntropyJump, signs);
  add_jump(run, "completions/mean_length", "the mean length", thresholds::kLengthJump,
           thresholds::kLeastLengthJump, signs);
  add_end_of_differences(run, signs);
  const Curve norm = run.curve("grad_norm"), kl = run.curve("kl"),
              clipped = run.curve("clip_ratio/region_mean"), ratio = run.curve("ratio/max");
  if (const double peak = peak_over_median(norm); peak >= kGradientPeak)
    signs.add(str("the gradient's norm has a peak of ", figure(peak), " times its median"),
              {"grad_norm", norm.steps().back(), std::ranges::max(norm.values())});
  if (const double steepest = steepest_rise(kl); steepest >= kKlOfStep)
    signs.add(str("one step added ", figure(steepest), " nats of KL"), evidence_of("kl", kl.last()));
  if (clipped.all().mean >= kClipShare)
    signs.add(str(percent(clipped.all().mean), " of the tokens are clipped"),
              evidence_of("clip_ratio/region_mean", clipped.all()));
  if (!ratio.is_empty() && std::ranges::max(ratio.values()) >= kFarRatio)
    signs.add(str("ratios reach ", figure(std::ranges::max(ratio.values()))),
              {"ratio/max", ratio.steps().back(), std::ranges::max(ratio.values())});
  return signs;
}

/// The reward is lower than it was, or not above where it began.
bool reward_is_lost(const RuleInput& run) {
  const Curve reward = run.drawn_reward();
  return !reward.is_empty() && !reward_rose(run) && reward.last().mean <= reward.first().mean;
}

std::vector<RunFinding> rising_loss(const RuleInput& run) {
  const Curve loss = run.curve("loss");
  if (loss.size() < kFewestSteps) return {};
  const CurveWindow lowest = loss.lowest(), last = loss.last();
  const bool rose = lowest.last_step < last.first_step && last.mean > 1.15 * lowest.mean;
  if (!rose || !is_clearly_above(last, lowest)) return {};
  return {finding(
      FindingLevel::kProblem,
      str("the loss rose from ", figure(lowest.mean), " in ", steps_text(lowest), " to ", figure(last.mean),
          " in ", steps_text(last)),
      str("lower ", run.named("optimizer.learning_rate"), " and raise ", run.named("optimizer.warmup_steps")),
      {evidence_of("loss", lowest), evidence_of("loss", last)})};
}

bool is_flat(const Curve& curve) {
  if (curve.is_empty()) return true;
  const CurveTrend trend = curve.trend();
  return std::abs(trend.change) <= kFlatScore * trend.error ||
         std::abs(trend.change) < 0.02 * std::abs(curve.all().mean);
}

}  // namespace

namespace rules {

std::vector<RunFinding> learning_rate_too_high(const RuleInput& run) {
  if (!run.is_policy()) return rising_loss(run);
  if (run.curve("grad_norm").size() < kFewestSteps || !reward_is_lost(run)) return {};
  const Signs signs = signs_of_large_updates(run);
  const size_t count = signs.texts.size();
  if (count < kFewestSigns) return {};
  std::string text = "single updates move the policy too far: ";
  for (size_t i = 0; i < count; ++i)
    text += (i == 0 ? "" : i + 1 == count ? ", and " : ", ") + signs.texts[i];
  return {finding(FindingLevel::kProblem, text,
                  str("lower ", run.named("optimizer.learning_rate"), " to a tenth, raise ",
                      run.named("optimizer.warmup_steps"), ", and keep ",
                      run.named("optimizer.max_grad_norm"), " at 1 or below"),
                  signs.metrics)};
}

std::vector<RunFinding> learning_rate_too_low(const RuleInput& run) {
  const Curve norm = run.curve("grad_norm"), rate = run.curve("learning_rate");
  if (run.is_game() || norm.size() < 2 * kFewestSteps || norm.last_half().median <= 0.0) return {};
  const bool has_adapters = run.number("lora.r", 0.0) > 0.0 || !run.text("lora.path").empty();
  const double enough = has_adapters ? thresholds::kTotalRateOfAdapters : thresholds::kTotalRate,
               total = total_rate(run);
  if (rate.is_empty() || total >= enough) return {};
  const bool is_still = run.is_policy() ? !reward_rose(run) && is_flat(run.drawn_reward()) &&
                                              is_flat(run.curve("entropy")) && is_flat(run.curve("kl"))
                                        : is_flat(run.curve("loss"));
  if (!is_still) return {};
  const char* curve = run.is_policy() ? "reward" : "loss";
  return {finding(FindingLevel::kWarning,
                  str("updates are too small to move the policy: the learning rates of ", rate.size(),
                      " steps add up to ", figure(total), ", and ",
                      run.is_policy() ? "reward and entropy are" : "the loss is", " flat"),
                  str("raise ", run.named("optimizer.learning_rate"), " tenfold",
                      has_adapters ? "; adapters want 1e-5 to 1e-3" : ""),
                  {evidence_of("learning_rate", rate.all()), evidence_of(curve, run.curve(curve).last())})};
}

}  // namespace rules
}  // namespace cohort
