// Rules about what completions look like: their ends, lengths and entropy.
#include <algorithm>
#include <cmath>

#include "cohort/core/error.h"
#include "cohort/explain/rules.h"

namespace cohort {
namespace {

constexpr const char* kClipped = "completions/clipped_ratio";
constexpr const char* kMeanLength = "completions/mean_length";
constexpr double kLongGrowth = 2.0;  // of the first length
constexpr double kNearLimit = 0.6;   // of the length limit
constexpr double kShrunk = 0.3;      // of the first length
constexpr double kClearFall = 3.0;   // of the noise of a single step
constexpr double kFewTokens = 2.5;   // no answer is that short after it was long
constexpr double kNoEntropy = 0.03;  // nats: one token in some hundred is a choice
constexpr double kDeadEntropy = 0.005;
constexpr double kEntropyShare = 0.2;   // of the first entropy
constexpr double kEntropyGrowth = 1.0;  // nats: e times as many likely tokens
constexpr double kEntropyFactor = 2.0;

std::vector<SampleEvidence> cut_samples(const RuleInput& run) {
  return samples_of(
      run.newest_completions(3, [](const CompletionEntry& entry) { return (entry.flags & kIsCut) != 0; }));
}

std::vector<SampleEvidence> newest_samples(const RuleInput& run) {
  return samples_of(run.newest_completions(3, [](const CompletionEntry&) { return true; }));
}

bool is_measured(const RuleInput& run) { return run.is_policy() && !run.flag("rollout.ignore_eos"); }

/// "raise rollout.max_completion_length = 64", and the limits of episodes.
std::string longer(const RuleInput& run) {
  const Json turn = run.setting("environment.max_turn_length"), turns = run.setting("environment.max_turns");
  return str("raise ", run.named("rollout.max_completion_length"),
             turn.is_null() ? "" : str(" or ", run.named("environment.max_turn_length")),
             turns.is_null() ? "" : str(" or ", run.named("environment.max_turns")));
}

}  // namespace

namespace rules {

std::vector<RunFinding> cut_at_limit(const RuleInput& run) {
  const Curve clipped = run.curve(kClipped);
  if (!is_measured(run) || !is_certain(run, clipped.size())) return {};
  const CurveWindow last = clipped.last();
  const bool is_short = clipped.size() < kFewestSteps;
  if (last.mean < thresholds::kOftenCut || (is_short && clipped.lowest().mean < thresholds::kMostlyCut))
    return {};
  return {finding(last.mean >= thresholds::kMostlyCut ? FindingLevel::kProblem : FindingLevel::kWarning,
                  str(percent(last.mean), " of the completions in ", steps_text(last),
                      " are cut at the limit of ", figure(run.number("rollout.max_completion_length", 0.0)),
                      " tokens, and rewards judge texts without an end"),
                  str(longer(run), ", ask for shorter answers, or set ",
                      run.named("objective.mask_truncated_completions", "true")),
                  {evidence_of(kClipped, last)}, cut_samples(run))};
}

std::vector<RunFinding> no_stop_token(const RuleInput& run) {
  const Curve clipped = run.curve(kClipped);
  if (!is_measured(run) || !is_certain(run, clipped.size())) return {};
  if (std::ranges::min(clipped.values()) < 1.0) return {};
  return {
      finding(FindingLevel::kProblem,
              str("no completion of ", steps_text(clipped.all()), " ended by itself: each ran to its limit"),
              str("check that the chat template ends a turn with a token that the model's "
                  "generation_config.json names in eos_token_id, set "
                  "rollout.stop_token_ids or rollout.stop_strings, and ",
                  longer(run)),
              {evidence_of(kClipped, clipped.all())}, cut_samples(run))};
}

std::vector<RunFinding> length_explosion(const RuleInput& run) {
  const Curve length = run.curve(kMeanLength);
  if (!is_measured(run) || length.size() < 2 * kFewestSteps) return {};
  const CurveWindow first = length.first(), last = length.last();
  const bool is_longer = last.mean >= kLongGrowth * first.mean && is_clearly_above(last, first);
  const double limit = run.number("rollout.max_completion_length", INFINITY);
  if (!is_longer || last.mean < kNearLimit * limit || reward_rose(run)) return {};
  return {finding(FindingLevel::kWarning,
                  str("completions grew from ", figure(first.mean), " to ", figure(last.mean),
                      " tokens (the limit is ", figure(limit), ") between ", steps_text(first), " and ",
                      steps_text(last), ", and the reward did not rise"),
                  str("see whether longer texts get higher rewards, add a reward soft_overlong, or change ",
                      run.named("objective.aggregation"), " to token_mean"),
                  {evidence_of(kMeanLength, first), evidence_of(kMeanLength, last)}, newest_samples(run))};
}

std::vector<RunFinding> length_collapse(const RuleInput& run) {
  const Curve length = run.curve(kMeanLength);
  if (!run.is_policy() || length.size() < 2 * kFewestSteps) return {};
  const CurveWindow start = length.window(0, 2), longest = length.highest(), last = length.last();
  const CurveWindow& first =
      start.mean > longest.mean ? start : longest;  // the fall may come in the first steps
  if (first.last_step >= last.first_step || last.mean > kShrunk * first.mean) return {};
  if (first.mean - last.mean < kClearFall * length.noise()) return {};
  if (last.mean > kFewTokens && reward_rose(run)) return {};
  return {
      finding(last.mean <= kFewTokens && !reward_rose(run) ? FindingLevel::kProblem : FindingLevel::kWarning,
              str("completions shrank from ", figure(first.mean), " tokens in ", steps_text(first), " to ",
                  figure(last.mean), " in ", steps_text(last)),
              str("see what the rewards give short texts, lower ", run.named("optimizer.learning_rate"),
                  ", or raise ", run.named("rollout.min_tokens")),
              {evidence_of(kMeanLength, first), evidence_of(kMeanLength, last)}, newest_samples(run))};
}

std::vector<RunFinding> entropy_collapse(const RuleInput& run) {
  const Curve entropy = run.curve("entropy");
  if (!run.is_policy() || entropy.size() < kFewestSteps || is_solved(run)) return {};
  const CurveWindow first = entropy.highest(), last = entropy.last();
  if (last.mean > kNoEntropy || last.mean > kEntropyShare * first.mean || first.last_step > last.last_step)
    return {};
  const bool is_dead = last.mean <= kDeadEntropy;
  if (!is_dead && reward_rose(run)) return {};
  return {finding(is_dead ? FindingLevel::kProblem : FindingLevel::kWarning,
                  str("entropy fell from ", figure(first.mean), " to ", figure(last.mean), " nats between ",
                      steps_text(first), " and ", steps_text(last), ": the policy no longer explores"),
                  str("lower ", run.named("optimizer.learning_rate"), ", raise ", run.named("objective.beta"),
                      " or ", run.named("objective.epsilon_high"), ", or set ",
                      run.named("objective.use_adaptive_entropy", "true")),
                  {evidence_of("entropy", first), evidence_of("entropy", last)}, newest_samples(run))};
}

std::vector<RunFinding> entropy_explosion(const RuleInput& run) {
  const Curve entropy = run.curve("entropy");
  if (!run.is_policy() || entropy.size() < kFewestSteps) return {};
  const CurveWindow lowest = entropy.lowest(), last = entropy.last();
  const bool grew = last.mean - lowest.mean >= kEntropyGrowth && last.mean >= kEntropyFactor * lowest.mean;
  if (!grew || lowest.last_step >= last.first_step || reward_rose(run)) return {};
  return {finding(
      FindingLevel::kProblem,
      str("entropy grew from ", figure(lowest.mean), " to ", figure(last.mean), " nats between ",
          steps_text(lowest), " and ", steps_text(last),
          ", and the reward did not rise: the policy drifts to noise"),
      str("lower ", run.named("optimizer.learning_rate"), " and ", run.named("objective.entropy_coef"),
          ", raise ", run.named("objective.beta"), ", or lower ", run.named("rollout.temperature")),
      {evidence_of("entropy", lowest), evidence_of("entropy", last)}, newest_samples(run))};
}

}  // namespace rules
}  // namespace cohort
