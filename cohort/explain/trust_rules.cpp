// Rules about whether rewards can be trusted: failures of their functions, and policies that please them.
#include <algorithm>
#include <cmath>

#include "cohort/core/error.h"
#include "cohort/explain/rules.h"
#include "libs/common/visible_text.h"

namespace cohort {
namespace {

constexpr double kGapGrowth = 0.1;     // scores are from 0 to 1
constexpr double kWideGap = 0.4;       // two honest judges of the same answer agree more often
constexpr double kHeldOutFall = 0.1;   // of the best evaluation
constexpr double kHeldOutScore = 3.0;  // standard errors; evaluations are few, and large

/// The first detail that a reward gives for a status, cut to a line.
std::string detail_of(const std::vector<Json>& completions, const std::string& reward,
                      const std::string& status) {
  constexpr size_t kLongestDetail = 160;
  for (const Json& line : completions) {
    const Json cell = line.value("rewards", Json::object()).value(reward, Json::object());
    if (cell.value("status", "") != status) continue;
    std::string detail = cell.value("detail", "");
    std::ranges::replace(detail, '\n', ' ');
    return detail.size() > kLongestDetail ? first_bytes(detail, kLongestDetail) + "…" : detail;
  }
  return "";
}

std::vector<Json> failed_completions(const RuleInput& run, const std::string& reward,
                                     const std::string& status) {
  constexpr size_t kMostRead = 64;
  std::vector<Json> failed = run.newest_completions(
      kMostRead, [](const CompletionEntry& entry) { return (entry.flags & kHasFailedReward) != 0; });
  std::erase_if(failed, [&](const Json& line) {
    return line.value("rewards", Json::object()).value(reward, Json::object()).value("status", "") != status;
  });
  failed.resize(std::min<size_t>(failed.size(), 3));
  return failed;
}

/// A finding for each reward some of whose completions have `status`.
std::vector<RunFinding> failed_cells(const RuleInput& run, const std::string& status, const std::string& what,
                                     const std::function<std::string(const std::string& reward)>& advice) {
  std::vector<RunFinding> found;
  if (!run.is_policy()) return found;
  for (const std::string& reward : run.rewards()) {
    const std::string metric = str("rewards/", reward, "/", status);
    const Curve failures = run.curve(metric);
    const double count = failures.sum();
    if (count == 0.0) continue;
    const double cells = run.completions_per_step() * static_cast<double>(failures.size());
    const double share = std::min(1.0, count / std::max(1.0, cells));
    const FindingLevel level = share >= thresholds::kManyFailures  ? FindingLevel::kProblem
                               : share >= thresholds::kFewFailures ? FindingLevel::kWarning
                                                                   : FindingLevel::kNote;
    const std::vector<Json> examples = failed_completions(run, reward, status);
    const std::string detail = detail_of(examples, reward, status);
    found.push_back(
        finding(level,
                str("the reward ", reward, " ", what, " for ", figure(count), " of ", figure(cells),
                    " completions (", percent(share), ")", detail.empty() ? "" : ": " + detail),
                advice(reward), {evidence_of(metric, failures.all())}, samples_of(examples)));
  }
  return found;
}

/// "timeout_s = 10" of a reward's table, or the key alone.
std::string named_of_reward(const RuleInput& run, const std::string& reward, const std::string& key) {
  const Json table = run.reward(reward);
  if (!table.is_object() || !table.contains(key)) return key;
  return str(key, " = ", to_json_text(table[key], -1));
}

}  // namespace

namespace rules {

std::vector<RunFinding> failing_reward(const RuleInput& run) {
  return failed_cells(run, "error", "fails with an error", [&](const std::string& reward) {
    return str("repair the function of ", reward,
               "; these completions have advantage 0, so that a policy can learn to provoke the error");
  });
}

std::vector<RunFinding> reward_timeouts(const RuleInput& run) {
  return failed_cells(run, "timeout", "has no answer before its deadline", [&](const std::string& reward) {
    return str("raise ", named_of_reward(run, reward, "timeout_s"), " or ",
               named_of_reward(run, reward, "workers"), " of ", reward, ", or make the function faster");
  });
}

std::vector<RunFinding> sandbox_failures(const RuleInput& run) {
  return failed_cells(run, "sandbox_error", "finds no sandbox", [&](const std::string& reward) {
    return str("check the sandbox with `cohort verify` and docs/sandbox.md, and lower ",
               named_of_reward(run, reward, "workers"), " of ", reward, " if memory is short");
  });
}

std::vector<RunFinding> unparsed_rows(const RuleInput& run) {
  return failed_cells(run, "unparsed", "can't read the data's columns", [&](const std::string& reward) {
    return str("correct the columns that ", reward,
               " reads, name them by `data.columns`, or leave these rows out");
  });
}

std::vector<RunFinding> checker_gap(const RuleInput& run) {
  std::vector<RunFinding> found;
  if (!run.is_policy()) return found;
  for (const std::string& checker : run.names_between("rewards/", "/gap")) {
    const std::string metric = "rewards/" + checker + "/gap";
    const Curve gap = run.curve(metric);
    if (gap.size() < kFewestSteps) continue;
    const CurveWindow first = gap.first(), last = gap.last();
    const bool grows = last.mean - first.mean > kGapGrowth && is_clearly_above(last, first);
    if (!grows && last.mean < kWideGap) continue;
    const std::string checked =
        run.reward(checker).is_object() ? run.reward(checker).value("checks", "") : "";
    found.push_back(finding(grows ? FindingLevel::kProblem : FindingLevel::kWarning,
                            str("the reward ", checked, " is ", figure(last.mean), " above its checker ",
                                checker, " in ", steps_text(last), "; it was ", figure(first.mean), " in ",
                                steps_text(first), grows ? ": the policy exploits the reward" : ""),
                            str("read completions that ", checked, " accepts and ", checker,
                                " does not, close the hole, and set a [[monitor]] on ", metric,
                                " with action = \"mask\" or \"stop\""),
                            {evidence_of(metric, first), evidence_of(metric, last)},
                            samples_of(run.newest_completions(
                                3, [](const CompletionEntry& entry) { return entry.advantage > 0.0F; }))));
  }
  return found;
}

std::vector<RunFinding> monitor_alarm(const RuleInput& run) {
  std::vector<RunFinding> found;
  for (const std::string& name : run.names_between("monitor/", "/alarm")) {
    const Curve alarm = run.curve("monitor/" + name + "/alarm"), value = run.curve("monitor/" + name);
    const auto first = std::ranges::find_if(alarm.values(), [](double set) { return set > 0.0; });
    if (first == alarm.values().end()) continue;
    const int64_t step = alarm.steps()[static_cast<size_t>(first - alarm.values().begin())];
    const bool is_on = alarm.values().back() > 0.0;
    const Curve since = value.from(step);
    found.push_back(
        finding(is_on ? FindingLevel::kWarning : FindingLevel::kNote,
                str("the monitor ", name, " gave an alarm in ", figure(alarm.sum()), " steps, first at step ",
                    step, since.is_empty() ? "" : str(" (its mean was ", figure(since.values().front()), ")"),
                    is_on ? ", and still does" : ""),
                "read the completions of that step; if the alarm is right, use action = \"mask\", \"stop\" "
                "or \"rollback\"",
                {{"monitor/" + name + "/alarm", step, 1.0}}));
  }
  return found;
}

namespace {

/// Where the best of an evaluation's curve stands, by windows of two.
struct HeldOutPeak {
  CurveWindow best, last;
};

/// Nothing before five evaluations.
HeldOutPeak peak_of(const Curve& curve) {
  HeldOutPeak peak;
  if (curve.size() < 5) return peak;
  for (size_t end = 2; end <= curve.size(); ++end) {
    const CurveWindow window = curve.window(end - 2, end);
    if (end == 2 || window.mean > peak.best.mean) peak.best = window;
  }
  peak.last = curve.window(curve.size() - 2, curve.size());
  return peak;
}

}  // namespace

std::vector<RunFinding> rewards_diverge(const RuleInput& run) {
  if (!run.is_policy()) return {};
  const Curve held_out = run.curve("eval_reward"), reward = run.drawn_reward();
  const HeldOutPeak peak = peak_of(held_out);
  const double fall = peak.best.mean - peak.last.mean;
  if (peak.best.count == 0 || peak.best.last_step >= peak.last.first_step) return {};
  if (fall < kHeldOutFall * std::abs(peak.best.mean) || standard_score(peak.best, peak.last) < kHeldOutScore)
    return {};
  const Curve since = reward.from(peak.best.last_step);
  if (since.size() < kFewestSteps) return {};
  const CurveTrend trend = since.trend();
  if (trend.change < 2.0 * trend.error) return {};
  return {finding(
      FindingLevel::kProblem,
      str("the held-out reward fell from ", figure(peak.best.mean), " (", steps_text(peak.best), ") to ",
          figure(peak.last.mean), " (", steps_text(peak.last), ") while the training reward rose from ",
          figure(since.first().mean), " to ", figure(since.last().mean)),
      str("keep the model in best/, add prompts, raise ", run.named("objective.beta"), ", and raise ",
          run.named("train.early_stopping_patience")),
      {evidence_of("eval_reward", peak.best), evidence_of("eval_reward", peak.last),
       evidence_of("reward", since.last())})};
}

std::vector<RunFinding> overfitting(const RuleInput& run) {
  if (run.is_policy()) return {};
  const Curve held_out = run.curve("eval_loss"), loss = run.curve("loss");
  std::vector<double> mirrored(held_out.values());
  for (double& value : mirrored) value = -value;
  const HeldOutPeak peak = peak_of(Curve(held_out.steps(), mirrored));
  const double growth = peak.best.mean - peak.last.mean;
  constexpr double kLossGrowth = 0.03;  // of the smallest held-out loss
  if (peak.best.count == 0 || peak.best.last_step >= peak.last.first_step) return {};
  if (growth < kLossGrowth * std::abs(peak.best.mean) || standard_score(peak.best, peak.last) < kHeldOutScore)
    return {};
  if (loss.size() < kFewestSteps || loss.last().mean >= loss.first().mean) return {};
  return {finding(FindingLevel::kWarning,
                  str("the held-out loss rose from ", figure(-peak.best.mean), " (", steps_text(peak.best),
                      ") to ", figure(-peak.last.mean), " (", steps_text(peak.last),
                      ") while the training loss fell to ", figure(loss.last().mean)),
                  str("keep the model in best/, train for fewer epochs or on more rows, and raise ",
                      run.named("train.early_stopping_patience")),
                  {{"eval_loss", peak.best.last_step, -peak.best.mean},
                   {"eval_loss", peak.last.last_step, -peak.last.mean}})};
}

}  // namespace rules
}  // namespace cohort
