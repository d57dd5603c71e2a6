#include "cohort/objectives/step_credit.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cohort/core/error.h"
#include "cohort/objectives/constant_groups.h"
#include "cohort/objectives/credit_rule.h"
#include "cohort/objectives/sample_statistics.h"
#include "cohort/objectives/scale.h"
#include "cohort/objectives/state_credit.h"
#include "cohort/objectives/token_credit.h"
#include "cohort/tensor/check.h"

namespace cohort {
namespace {

constexpr double kLeftOut = std::numeric_limits<double>::quiet_NaN();

std::vector<double> batch_whitened(std::vector<double> scores, const AdvantageConfig& config) {
  if (!config.batch_whiten) return scores;
  return whitened(scores, {}, config.scale_ddof, config.scale_epsilon);
}

StateSteps state_steps(const StepList& steps) {
  return {
      .rewards = steps.scores, .completions = steps.completions, .states = steps.states, .ends = steps.ends};
}

/// GAGPO's: generalized advantages over states, normalized over the group's steps.
std::vector<double> turn_scores(const StepList& steps, const AdvantageConfig& config) {
  std::vector<double> scores = state_group_advantages(state_steps(steps), config.gamma, config.gae_lambda);
  if (find_scale(config.scale_rewards).is_one) return scores;
  for_each_group(std::span(scores), steps.ends, [&](size_t, int64_t, std::span<double> group) {
    std::ranges::copy(standard_scores(group, config.scale_ddof, config.scale_epsilon), group.begin());
  });
  return scores;
}

/// [steps] the advantage of each step within its group.
std::vector<double> step_scores(const StepList& steps, const AdvantageConfig& config) {
  const CreditRule& credit = find_credit_rule(config.credit);
  if (credit.has_state_values) return turn_scores(steps, config);
  if (!credit.is_of_states)
    return batch_whitened(normalised_scores({.scores = steps.scores, .ends = steps.ends}, config), config);
  std::vector<double> scores =
      anchor_state_advantages(state_steps(steps), config.gamma, config.baseline, scale_options(config));
  for (double& score : scores) score *= config.gigpo_omega;
  return scores;
}

/// [P] whether the steps of a group tell its completions apart. Where only steps from one state are compared,
/// rewards that differ need not.
std::vector<uint8_t> groups_of_equal_steps(const StepList& steps, const std::vector<double>& scores,
                                           const AdvantageConfig& config) {
  const CreditRule& credit = find_credit_rule(config.credit);
  if (!credit.is_of_states || credit.has_state_values) return constant_groups(steps.scores, steps.ends);
  std::vector<uint8_t> are_zero(steps.ends.size(), 1);
  for_each_group(std::span(scores), steps.ends, [&](size_t g, int64_t, std::span<const double> group) {
    are_zero[g] = std::ranges::all_of(group, [](double score) { return score == 0.0; });
  });
  return are_zero;
}

std::vector<double> token_values(const StepList& steps, const std::vector<double>& scores,
                                 const AdvantageBatch& batch, const AdvantageConfig& config) {
  std::vector<double> values(batch.num_tokens(), kLeftOut);
  size_t s = 0;
  for (int64_t i = 0; i < batch.num_completions; ++i) {
    std::vector<StepScore> own;
    for (; s < scores.size() && steps.completions[s] == i; ++s)
      own.push_back({scores[s], steps.token_ends[s]});
    if (own.empty()) continue;
    const std::vector<double> tokens = find_credit_rule(config.credit).sums_later_steps
                                           ? suffix_credit(own, batch.lengths[i], config.gamma)
                                           : segment_credit(own, batch.lengths[i]);
    std::ranges::copy(tokens, batch.own(values, i).begin());
  }
  return values;
}

/// [N] the outcomes of completions that are kept; those of credit by states are the sums of their rewards if
/// none are given. Empty: there are none.
std::vector<double> outcomes_of(const AdvantageInput& input, const StepList& steps,
                                const AdvantageBatch& batch, const AdvantageConfig& config) {
  const CreditRule& credit = find_credit_rule(config.credit);
  if (!input.outcome_rewards.defined()) {
    if (!credit.adds_outcomes || !credit.is_of_states) return {};
    std::vector<double> sums(batch.num_completions, kLeftOut);
    for (size_t s = 0; s < steps.scores.size(); ++s) {
      double& sum = sums[steps.completions[s]];
      sum = (std::isnan(sum) ? 0.0 : sum) + steps.scores[s];
    }
    return sums;
  }
  check_shape(input.outcome_rewards, {batch.num_completions}, "outcome_rewards");
  std::vector<double> outcomes = plain_numbers(input.outcome_rewards);
  for (int64_t i = 0; i < batch.num_completions; ++i) {
    if (std::isinf(outcomes[i])) throw ConfigError(str("completion ", i, " has the reward ", outcomes[i]));
    if (!batch.is_kept[i]) outcomes[i] = kLeftOut;
  }
  return outcomes;
}

/// Adds the advantages of whole completions to all of their tokens. A group of equal steps still differs if
/// its outcomes do.
void add_outcomes(const std::vector<double>& outcomes, const AdvantageBatch& batch,
                  const AdvantageConfig& config, StepCredit& credit) {
  if (outcomes.empty()) return;
  std::vector<double> scores =
      batch_whitened(normalised_scores({.scores = outcomes, .ends = batch.ends}, config), config);
  batch.share(scores);
  for (int64_t i = 0; i < batch.num_completions; ++i) {
    if (std::isnan(scores[i])) continue;
    for (double& value : batch.own(credit.values, i)) value = (std::isnan(value) ? 0.0 : value) + scores[i];
  }
  const std::vector<uint8_t> is_constant = constant_groups(outcomes, batch.ends);
  for (size_t g = 0; g < is_constant.size(); ++g)
    credit.has_no_difference[g] = credit.has_no_difference[g] && is_constant[g];
}

}  // namespace

StepCredit credit_of_steps(const AdvantageInput& input, const AdvantageBatch& batch,
                           const AdvantageConfig& config) {
  const StepList steps = read_steps(input, batch);
  const std::vector<double> scores = step_scores(steps, config);
  StepCredit credit{.values = token_values(steps, scores, batch, config),
                    .scores = steps.scores,
                    .has_no_difference = groups_of_equal_steps(steps, scores, config)};
  add_outcomes(outcomes_of(input, steps, batch, config), batch, config, credit);
  return credit;
}

}  // namespace cohort
