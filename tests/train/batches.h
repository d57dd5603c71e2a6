// Steps made by hand, for tests.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cohort/rl/batch.h"

namespace cohort {

inline RewardResult ok(double score, std::string detail = "") {
  return {score, RewardStatus::kOk, std::move(detail)};
}

inline RewardResult failed(RewardStatus status, std::string detail = "") {
  return {0.0, status, std::move(detail)};
}

/// A sample of `length` tokens, each with log-probability -1, that has these cells.
inline Sample sample_of(std::vector<RewardResult> cells, int64_t length = 1) {
  Sample sample;
  sample.completion.token_ids.assign(length, 7);
  sample.completion.sampler_logprobs.assign(length, -1.0f);
  sample.rewards = std::move(cells);
  return sample;
}

/// Samples that one function judged, with these scores as their total rewards; nan: the function failed.
/// Sample i has i + 1 tokens.
inline Group group_of(const std::vector<double>& scores) {
  Group group;
  for (int64_t i = 0; i < std::ssize(scores); ++i) {
    const bool is_judged = !std::isnan(scores[i]);
    group.samples.push_back(
        sample_of({is_judged ? ok(scores[i]) : failed(RewardStatus::kError, "broken")}, i + 1));
    group.samples.back().completion.sample = i;
    group.samples.back().reward = scores[i];
  }
  return group;
}

inline std::vector<Group> groups_of(const std::vector<std::vector<double>>& scores) {
  std::vector<Group> groups;
  for (const std::vector<double>& group : scores) groups.push_back(group_of(group));
  return groups;
}

/// A step of these groups with their total rewards. The prompts have the ids "0", "1", "2", ...
inline Batch batch_of(std::vector<Group> groups, std::vector<std::string> names = {"mine"},
                      std::vector<double> weights = {1.0}) {
  Batch batch;
  batch.gives_steps.assign(names.size(), 0);
  batch.reward_names = std::move(names);
  batch.reward_weights = std::move(weights);
  batch.groups = std::move(groups);
  for (size_t g = 0; g < batch.groups.size(); ++g) batch.groups[g].prompt.id = std::to_string(g);
  add_up_rewards(batch);
  return batch;
}

}  // namespace cohort
