#include "cohort/objectives/process_advantage.h"

#include <algorithm>

#include "cohort/core/error.h"

namespace cohort {
namespace {

/// The rewards of all steps in one flat list, group after group.
struct FlatSteps {
  TotalRewards rewards;
  std::vector<size_t> completions;  // whose steps they are
  std::vector<int64_t> ends;        // in tokens
  std::vector<int64_t> group_ends;
};

FlatSteps flatten(std::span<const RewardMatrix> rewards, const RewardColumns& columns,
                  const TotalRewards& totals) {
  FlatSteps flat;
  size_t completion = 0;
  for (const RewardMatrix& matrix : rewards) {
    for (int64_t i = 0; i < matrix.num_completions(); ++i, ++completion) {
      for (int64_t c = 0; c < matrix.num_rewards() && totals.valid[completion]; ++c) {
        if (!columns.gives_steps[c] || columns.weights[c] == 0.0) continue;
        for (const StepReward& step : matrix.at(i, c).steps) {
          flat.rewards.values.push_back(columns.weights[c] * step.score);
          flat.rewards.valid.push_back(1);
          flat.completions.push_back(completion);
          flat.ends.push_back(step.end);
        }
      }
    }
    flat.group_ends.push_back(static_cast<int64_t>(flat.ends.size()));
  }
  return flat;
}

/// The advantages of the rewards without steps; the same completions are valid.
Advantages outcome_advantages(std::span<const RewardMatrix> rewards, const RewardColumns& columns,
                              const TotalRewards& all, int64_t group_size, ScaleRewards scale) {
  std::vector<double> weights(columns.weights.begin(), columns.weights.end());
  for (size_t c = 0; c < weights.size(); ++c) {
    if (columns.gives_steps[c]) weights[c] = 0.0;
  }
  TotalRewards totals;
  for (const RewardMatrix& matrix : rewards) append_total_rewards(matrix, weights, totals);
  for (size_t i = 0; i < totals.valid.size(); ++i) totals.valid[i] = totals.valid[i] && all.valid[i];
  return group_advantages(totals, group_size, scale);
}

}  // namespace

Advantages process_advantages(std::span<const RewardMatrix> rewards, const RewardColumns& columns,
                              const TotalRewards& totals, std::span<const int64_t> lengths,
                              ScaleRewards scale) {
  COHORT_CHECK(!rewards.empty());
  const int64_t group_size = rewards.front().num_completions();
  COHORT_CHECK(totals.values.size() == lengths.size(), totals.values.size(), " totals, ", lengths.size(),
               " lengths");
  Advantages result = group_advantages(totals, group_size, scale);
  const Advantages outcome = outcome_advantages(rewards, columns, totals, group_size, scale);
  const FlatSteps steps = flatten(rewards, columns, totals);
  const Advantages normalised = group_advantages(steps.rewards, steps.group_ends, scale);

  std::vector<std::vector<double>> tokens;
  for (size_t i = 0; i < lengths.size(); ++i) tokens.emplace_back(lengths[i], outcome.values[i]);
  for (size_t s = 0; s < steps.ends.size(); ++s) {
    std::vector<double>& own = tokens[steps.completions[s]];
    const int64_t end = std::min(steps.ends[s], static_cast<int64_t>(own.size()));
    for (int64_t t = 0; t < end; ++t) own[t] += normalised.values[s];
  }
  double num_zero = 0.0;
  for (size_t g = 0; g < rewards.size(); ++g) {
    result.zero_std[g] = outcome.zero_std[g] && normalised.zero_std[g];
    num_zero += result.zero_std[g];
  }
  result.frac_reward_zero_std = num_zero / static_cast<double>(rewards.size());
  for (size_t i = 0; i < lengths.size(); ++i) {
    result.values[i] = tokens[i].empty() ? 0.0 : tokens[i].front();
    result.tokens.emplace_back(tokens[i].begin(), tokens[i].end());
  }
  return result;
}

}  // namespace cohort
