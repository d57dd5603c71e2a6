// Rules about what rewards teach.
#include <algorithm>
#include <cmath>

#include "cohort/core/error.h"
#include "cohort/explain/rules.h"

namespace cohort {
namespace {

constexpr const char* kZeroGroups = "frac_reward_zero_std";
constexpr double kNearlyAll = 0.97;  // what is left moves nothing
constexpr double kLowReward = 0.2;   // of the range of rewards
constexpr double kHighReward = 0.8;
constexpr double kTopReward = 0.9;
constexpr double kMostlyCut = 0.5;     // completions without an end solve nothing
constexpr double kRiseOfScale = 0.1;   // a rise of less than a tenth of the rewards' spread is none
constexpr size_t kLongRun = 40;        // steps in which a policy that learns shows it
constexpr double kFallOfGain = 0.4;    // of what was above the lowest reward; less comes back in healthy runs
constexpr double kDeepFall = 0.7;      // hardly anything is left
constexpr double kFallOfSpread = 0.2;  // of the spread within a step, so that a fall of 0.01 is none

/// The mean spread of rewards within a step; 0 if it is not known.
double reward_spread(const RuleInput& run) {
  const Curve spread = run.curve("reward_std");
  return spread.is_empty() ? 0.0 : spread.all().mean;
}

std::vector<RunFinding> equal_rewards_at(const RuleInput& run, bool low) {
  const Curve zero = run.curve(kZeroGroups), reward = run.curve("reward");
  if (!run.is_policy() || !run.compares_groups() || reward.is_empty() || !is_certain(run, zero.size()))
    return {};
  const size_t half = zero.size() < 2 * kFewestSteps ? 0 : zero.size() / 2;
  const CurveWindow late = zero.window(half, zero.size()),
                    late_reward = reward.window(reward.size() / 2, reward.size());
  const double position = run.reward_position(late_reward.mean);
  if (late.mean < thresholds::kMostGroups || (low ? position > kLowReward : position < kHighReward))
    return {};
  const bool was_so_before =
      run.reward_position(reward.first().mean) >= kHighReward && zero.first().mean >= thresholds::kMostGroups;
  if (low ? reward_rose(run) : !was_so_before) return {};
  const FindingLevel level = late.mean >= kNearlyAll ? FindingLevel::kProblem : FindingLevel::kWarning;
  const std::string text = str(percent(late.mean), " of the groups in ", steps_text(late),
                               " have equal rewards, with a mean reward of ", figure(late_reward.mean));
  const std::string advice =
      low ? str("take easier prompts, warm up by `cohort sft`, give partial credit, or raise ",
                run.named("rollout.num_generations"), "; ", run.named("rollout.dynamic_sampling", "true"),
                " skips such groups")
          : str("take harder prompts; ", run.named("rollout.dynamic_sampling", "true"), " skips solved ones");
  return {finding(level, text, advice, {evidence_of(kZeroGroups, late), evidence_of("reward", late_reward)})};
}

}  // namespace

bool reward_rose(const RuleInput& run) {
  const Curve reward = run.drawn_reward();
  if (reward.size() < kFewestSteps) return false;
  const CurveTrend trend = reward.trend();
  const double fewest = kRiseOfScale * reward_spread(run);
  return (trend.change > 2.0 * trend.error || standard_score(reward.last(), reward.first()) > 3.0) &&
         reward.last().mean - reward.first().mean > fewest;
}

bool is_solved(const RuleInput& run) {
  const Curve reward = run.drawn_reward();
  if (reward.is_empty() || run.reward_position(reward.last().mean) < kTopReward) return false;
  return run.curve("completions/clipped_ratio").last().mean < kMostlyCut;
}

namespace rules {

std::vector<RunFinding> all_rewards_equal(const RuleInput& run) {
  const Curve zero = run.curve(kZeroGroups);
  if (!run.is_policy() || !run.compares_groups() || run.flag("rollout.dynamic_sampling")) return {};
  if (!is_certain(run, zero.size())) return {};
  const CurveWindow late =
      zero.window(zero.size() - std::min(zero.size(), std::max(kFewestSteps, zero.size() / 4)), zero.size());
  const bool became_equal = zero.first().mean < thresholds::kMostGroups;
  if (late.mean < 1.0 || (became_equal && is_solved(run))) return {};
  const Curve reward = run.curve("reward");
  return {finding(FindingLevel::kProblem,
                  str("no group's rewards differ in ", steps_text(late),
                      reward.is_empty() ? "" : str(" (mean reward ", figure(reward.last().mean), ")"),
                      ", so that these steps have no gradient"),
                  str("try the rewards on a few completions with `cohort verify`; give partial credit, take "
                      "other prompts, or raise ",
                      run.named("rollout.num_generations"), " or ", run.named("rollout.temperature")),
                  {evidence_of(kZeroGroups, late)},
                  samples_of(run.newest_completions(3, [](const CompletionEntry&) { return true; })))};
}

std::vector<RunFinding> tasks_too_hard(const RuleInput& run) { return equal_rewards_at(run, /*low=*/true); }

std::vector<RunFinding> tasks_too_easy(const RuleInput& run) { return equal_rewards_at(run, /*low=*/false); }

std::vector<RunFinding> no_progress(const RuleInput& run) {
  const Curve reward = run.drawn_reward();
  if (!run.is_policy() || run.is_game() || reward.size() < kLongRun || is_solved(run)) return {};
  if (run.curve(kZeroGroups).last_half().mean >= kNearlyAll) return {};  // other rules say so
  const CurveTrend trend = reward.trend();
  const double spread = reward_spread(run), most = trend.change + 2.0 * trend.error;
  const bool is_lower =
      reward.last().mean < reward.first().mean && standard_score(reward.first(), reward.last()) > 3.0;
  if (most > kRiseOfScale * spread || is_lower || reward_rose(run)) return {};
  const Curve held_out = run.curve("eval_reward");
  if (held_out.size() > 2 && held_out.values().back() > held_out.values().front() + kRiseOfScale * spread)
    return {};
  return {finding(
      FindingLevel::kWarning,
      str("the reward is flat: ", figure(reward.first().mean), " in ", steps_text(reward.first()), ", ",
          figure(reward.last().mean), " in ", steps_text(reward.last()),
          ", while completions of a step differ by ", figure(spread)),
      str("raise ", run.named("optimizer.learning_rate"), " or ", run.named("rollout.prompts_per_step"),
          ", and see how many groups differ (frac_reward_zero_std)"),
      {evidence_of(run.drawn_reward_name(), reward.first()),
       evidence_of(run.drawn_reward_name(), reward.last())})};
}

std::vector<RunFinding> reward_fell(const RuleInput& run) {
  const Curve reward = run.drawn_reward();
  if (!run.is_policy() || run.is_game() || reward.size() < 2 * kFewestSteps) return {};
  const CurveWindow best = reward.highest(), last = reward.last();
  const double floor =
      std::min(reward.lowest().mean, std::max(0.0, reward.lowest().mean - reward_spread(run)));
  const double fall = best.mean - last.mean, gain = best.mean - floor;
  if (best.last_step >= last.first_step || !is_clearly_above(best, last)) return {};
  if (fall < kFallOfGain * gain || fall < kFallOfSpread * reward_spread(run)) return {};
  const FindingLevel level = fall >= kDeepFall * gain ? FindingLevel::kProblem : FindingLevel::kWarning;
  return {finding(level,
                  str("the reward fell from ", figure(best.mean), " in ", steps_text(best), " to ",
                      figure(last.mean), " in ", steps_text(last)),
                  str("lower ", run.named("optimizer.learning_rate"), ", raise ", run.named("objective.beta"),
                      ", or roll back by a [[monitor]] with `drop`"),
                  {evidence_of(run.drawn_reward_name(), best), evidence_of(run.drawn_reward_name(), last)},
                  samples_of(run.newest_completions(3, [](const CompletionEntry&) { return true; })))};
}

namespace {

/// Whether a reward gave the same number to all completions of all steps.
bool is_constant(const RuleInput& run, const std::string& name) {
  const Curve mean = run.curve("rewards/" + name + "/mean"), spread = run.curve("rewards/" + name + "/std");
  if (!is_certain(run, mean.size()) || spread.is_empty()) return false;
  const auto [low, high] = std::ranges::minmax(mean.values());
  const double rounding = 1e-9 * std::max(1.0, std::abs(high));  // of a mean of equal numbers
  return high - low <= rounding && std::ranges::max(spread.values()) <= rounding;
}

}  // namespace

std::vector<RunFinding> constant_reward(const RuleInput& run) {
  std::vector<RunFinding> found;
  if (!run.is_policy()) return found;
  std::vector<std::string> weighted = run.rewards();
  std::erase_if(weighted, [&](const std::string& name) { return run.weight(name) == 0.0; });
  const auto num_constant =
      std::ranges::count_if(weighted, [&](const std::string& name) { return is_constant(run, name); });
  for (const std::string& name : weighted) {
    if (!is_constant(run, name)) continue;
    const CurveWindow all = run.curve("rewards/" + name + "/mean").all();
    const bool is_met = num_constant < std::ssize(weighted) && std::abs(all.mean - 1.0) < 1e-9;
    const FindingLevel level = num_constant == std::ssize(weighted) ? FindingLevel::kProblem
                               : is_met                             ? FindingLevel::kNote
                                                                    : FindingLevel::kWarning;
    found.push_back(finding(
        level,
        str("the reward ", name, " is ", figure(all.mean), " for every completion of ", steps_text(all)),
        is_met ? str("nothing is wrong if all completions deserve it; otherwise try it with `cohort verify "
                     "--reward ",
                     name, "`")
               : str("try it on good and bad completions with `cohort verify`, and see which columns and "
                     "format it asks for"),
        {evidence_of("rewards/" + name + "/mean", all)},
        samples_of(run.newest_completions(3, [](const CompletionEntry&) { return true; }))));
  }
  return found;
}

std::vector<RunFinding> reward_without_weight_effect(const RuleInput& run) {
  constexpr double kNoShare = 0.02;        // of all rewards' weighted spreads
  constexpr double kNoCorrelation = 0.15;  // with the weighted sum
  std::vector<RunFinding> found;
  if (!run.is_policy() || run.text("objective.multi_objective_aggregation") == "normalize_then_sum")
    return found;
  const std::vector<std::string> names = run.rewards();
  std::vector<double> parts;
  for (const std::string& name : names) {
    const Curve spread = run.curve("rewards/" + name + "/std");
    parts.push_back(spread.is_empty() ? 0.0 : std::abs(run.weight(name)) * spread.last_half().mean);
  }
  double sum = 0.0;
  for (const double part : parts) sum += part;
  for (size_t i = 0; i < names.size(); ++i) {
    const Curve correlation = run.curve("rewards/" + names[i] + "/correlation");
    if (parts[i] == 0.0 || parts[i] >= kNoShare * sum || correlation.size() < kFewestSteps) continue;
    const CurveWindow late = correlation.last_half();
    if (std::abs(late.mean) > kNoCorrelation) continue;
    const std::string main = names[static_cast<size_t>(std::ranges::max_element(parts) - parts.begin())];
    found.push_back(finding(FindingLevel::kWarning,
                            str("the reward ", names[i], " decides ", percent(parts[i] / sum),
                                " of the weighted sum, whose spread is that of ", main, " (correlation ",
                                figure(late.mean), " in ", steps_text(late), ")"),
                            str("raise the `weight` of ", names[i], ", lower that of ", main, ", or set ",
                                run.named("objective.multi_objective_aggregation", "\"normalize_then_sum\"")),
                            {evidence_of("rewards/" + names[i] + "/correlation", late)}));
  }
  return found;
}

}  // namespace rules
}  // namespace cohort
