// Rules about tools, environments, time and memory.
#include <algorithm>
#include <cmath>
#include <set>

#include "cohort/core/error.h"
#include "cohort/explain/rules.h"

namespace cohort {
namespace {

constexpr double kFailedCalls = 0.3;  // of the calls
constexpr double kMostCalls = 0.7;
constexpr double kFewFailures = 0.01;  // of the completions
constexpr double kManyFailures = 0.2;
constexpr double kWaiting = 0.3;       // of a step
constexpr double kLeastWait = 0.2;     // seconds a step: less is not worth a word
constexpr double kSlower = 2.5;        // of the fastest steps; a busy machine costs a factor of two
constexpr double kMemoryGrowth = 0.2;  // of the memory at half of the run
constexpr double kLeastGrowth = 0.25;  // GiB
constexpr size_t kLongEnough = 24;     // steps, for rules about growth

/// Seconds of a timing, as a share of the step, if both are worth a word.
std::vector<RunFinding> waiting(const RuleInput& run, const char* metric, const char* what,
                                const std::string& advice) {
  const Curve wait = run.curve(metric), step = run.curve("step_time");
  if (!run.is_policy() || wait.size() < kFewestSteps || step.is_empty()) return {};
  const CurveWindow late = wait.last_half();
  const double share = late.median / std::max(1e-9, step.last_half().median);
  if (share < kWaiting || late.median < kLeastWait) return {};
  return {finding(FindingLevel::kWarning,
                  str(what, " for ", figure(late.median), " s of ", figure(step.last_half().median),
                      " s a step (", percent(share), ") in ", steps_text(late)),
                  advice, {evidence_of(metric, late), evidence_of("step_time", step.last_half())})};
}

/// The slowest reward by its p90, for advice.
std::string slowest_reward(const RuleInput& run) {
  std::string slowest;
  double longest = 0.0;
  for (const std::string& name : run.names_between("timing_s/reward/", "/p90")) {
    const double seconds = run.curve("timing_s/reward/" + name + "/p90").all().median;
    if (seconds > longest)
      slowest = str(" (the slowest is ", name, ", with a p90 of ", figure(seconds), " s)");
    longest = std::max(longest, seconds);
  }
  return slowest;
}

/// The least seconds of a step, which other programs on the machine hardly change.
double fastest_step(const Curve& time, size_t begin, size_t end) {
  return *std::min_element(time.values().begin() + static_cast<std::ptrdiff_t>(begin),
                           time.values().begin() + static_cast<std::ptrdiff_t>(end));
}

/// Whether even the fastest steps become slower, from third to third.
bool slows_down(const Curve& time) {
  const size_t size = time.size();
  const double first = fastest_step(time, 0, size / 3), middle = fastest_step(time, size / 3, 2 * size / 3),
               last = fastest_step(time, size - size / 5, size);
  return middle >= first && last >= middle && last >= kSlower * first;
}

Curve per_token(const Curve& time, const Curve& tokens) {
  std::vector<double> seconds(time.values());
  for (size_t i = 0; i < seconds.size(); ++i) seconds[i] /= std::max(1.0, tokens.values()[i]);
  return {time.steps(), std::move(seconds)};
}

bool has_tools(const RuleInput& run) {
  const Json tools = run.setting("tool");
  return tools.is_array() && !tools.empty();
}

}  // namespace

namespace rules {

std::vector<RunFinding> tools_unused(const RuleInput& run) {
  constexpr const char* kCalls = "tools/call_frequency";
  const Curve calls = run.curve(kCalls);
  if (!run.is_policy() || !is_certain(run, calls.size())) return {};
  const CurveWindow most = calls.highest(), last = calls.last();
  constexpr double kHardlyAny = 0.01;  // calls of a completion
  constexpr double kSomeCalls = 0.2;
  const bool never = has_tools(run) && most.mean == 0.0;
  const bool gave_up = calls.size() >= 2 * kFewestSteps && most.mean >= kSomeCalls &&
                       last.mean <= kHardlyAny && !reward_rose(run);
  if (!never && !gave_up) return {};
  return {finding(FindingLevel::kWarning,
                  never ? str("no completion of ", steps_text(calls.all()), " calls a tool")
                        : str("calls of tools fell from ", figure(most.mean), " a completion in ",
                              steps_text(most), " to ", figure(last.mean), " in ", steps_text(last)),
                  never ? str("check that the chat template lists the tools and that ",
                              run.named("environment.tool_call_format"),
                              " is the model's (`cohort verify-tools`), or begin with `cohort sft` on "
                              "episodes that call them")
                        : str("reward the use of tools (type tool_calls), or lower ",
                              run.named("optimizer.learning_rate")),
                  {evidence_of(kCalls, most), evidence_of(kCalls, last)})};
}

std::vector<RunFinding> tool_failures(const RuleInput& run) {
  constexpr const char* kFailures = "tools/failure_frequency";
  const Curve failures = run.curve(kFailures), calls = run.curve("tools/call_frequency");
  if (!run.is_policy() || failures.size() < kFewestSteps || calls.last().mean <= 0.0) return {};
  const CurveWindow last = failures.last();
  if (last.mean < kFailedCalls) return {};
  return {finding(last.mean >= kMostCalls ? FindingLevel::kProblem : FindingLevel::kWarning,
                  str(percent(last.mean), " of the calls in ", steps_text(last), " are malformed or fail"),
                  str("read the tools' replies in `messages` of completions.jsonl; check ",
                      run.named("environment.tool_call_format"),
                      " with `cohort verify-tools`, the tools' schemas and their `timeout_s`"),
                  {evidence_of(kFailures, last)},
                  samples_of(run.newest_completions(
                      3, [](const CompletionEntry& entry) { return (entry.flags & kHasInjected) != 0; })))};
}

std::vector<RunFinding> environment_failures(const RuleInput& run) {
  const Curve failed = run.curve("episodes/failed");
  const double count = failed.sum();
  if (!run.is_policy() || count == 0.0) return {};
  const double episodes = run.completions_per_step() * static_cast<double>(failed.size()),
               share = std::min(1.0, count / episodes);
  const std::vector<Json> examples = run.newest_completions(
      3, [](const CompletionEntry& entry) { return (entry.flags & kHasFailedEnvironment) != 0; });
  const std::string why = examples.empty() ? "" : examples.front().value("environment_failure", "");
  const std::string limit = run.setting("agent.command").empty() ? run.named("environment.timeout_s")
                                                                 : run.named("agent.timeout_s");
  return {finding(share >= kManyFailures  ? FindingLevel::kProblem
                  : share >= kFewFailures ? FindingLevel::kWarning
                                          : FindingLevel::kNote,
                  str("the environment of ", figure(count), " of ", figure(episodes), " completions failed (",
                      percent(share), ")", why.empty() ? "" : ": " + why.substr(0, why.find('\n'))),
                  str("repair the environment; these completions are masked. If it is slow, raise ", limit),
                  {evidence_of("episodes/failed", failed.all())}, samples_of(examples))};
}

std::vector<RunFinding> rewards_are_bottleneck(const RuleInput& run) {
  return waiting(run, "timing_s/reward", "steps wait for rewards",
                 str("raise `workers` or `batch_size` of the slow reward", slowest_reward(run),
                     ", or draw ahead: raise ", run.named("rollout.prompts_ahead")));
}

std::vector<RunFinding> tools_idle(const RuleInput& run) {
  return waiting(run, "timing_s/idle_for_tools", "the sampler waits for tools and environments",
                 str("draw more episodes at a time (", run.named("rollout.prompts_per_step"), "), raise ",
                     run.named("environment.workers"), ", or make the tools faster"));
}

std::vector<RunFinding> memory_grows(const RuleInput& run) {
  constexpr const char* kMemory = "perf/max_memory_allocated_gb";
  const Curve memory = run.curve(kMemory);
  if (memory.size() < kLongEnough) return {};
  const size_t half = memory.size() / 2;
  const double before = memory.values()[half], after = memory.values().back(), growth = after - before;
  std::set<double> levels(memory.values().begin() + static_cast<std::ptrdiff_t>(half), memory.values().end());
  const bool is_steady =
      memory.quarter(3).mean > memory.quarter(2).mean && levels.size() >= memory.size() / 8;
  const Curve longest = run.curve("completions/max_length");
  const bool is_by_length = longest.size() == memory.size() &&
                            longest.quarter(3).mean > (1.0 + kMemoryGrowth) * longest.quarter(1).mean;
  if (growth < kMemoryGrowth * before || growth < kLeastGrowth || !is_steady) return {};
  return {finding(FindingLevel::kWarning,
                  str("memory grows through the run: ", figure(before), " GiB at step ", memory.steps()[half],
                      ", ", figure(after), " GiB at step ", memory.steps().back()),
                  str(is_by_length ? "completions grow as well: lower "
                                   : "see what a Python function of the run keeps; lower ",
                      is_by_length ? run.named("rollout.max_completion_length")
                                   : run.named("train.tokens_per_microbatch"),
                      ", or set ", run.named("train.recompute", "true")),
                  {{kMemory, memory.steps()[half], before}, {kMemory, memory.steps().back(), after}})};
}

std::vector<RunFinding> slow_steps(const RuleInput& run) {
  const Curve time = run.curve("step_time"), tokens = run.curve("perf/total_num_tokens");
  if (time.size() < 2 * kLongEnough) return {};  // the fastest of few steps may be a slow one
  if (!slows_down(time) || (tokens.size() == time.size() && !slows_down(per_token(time, tokens)))) return {};
  const CurveWindow first = time.first(), last = time.last();
  return {finding(
      FindingLevel::kWarning,
      str("a step takes ", figure(last.median), " s in ", steps_text(last), " and took ",
          figure(first.median), " s in ", steps_text(first), ", although it has no more to do"),
      "see which part of the step grows (timing_s/*): rewards, tools, or another program on the machine",
      {evidence_of("step_time", first), evidence_of("step_time", last)})};
}

}  // namespace rules
}  // namespace cohort
