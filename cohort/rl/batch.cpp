#include "cohort/rl/batch.h"

#include <algorithm>
#include <cmath>

namespace cohort {

const char* to_string(LossMask mask) {
  constexpr const char* kNames[] = {"none", "truncated", "monitor", "failed"};
  return kNames[static_cast<int>(mask)];
}

const char* to_string(Untrained reason) {
  constexpr const char* kNames[] = {"greedy", "not_kept", "no_difference", "surplus"};
  return kNames[static_cast<int>(reason)];
}

bool is_tree(const Group& group) {
  return std::ranges::any_of(group.samples, [](const Sample& sample) { return sample.fork.has_value(); });
}

std::span<const Group> first_groups(std::span<const Group> groups) {
  const auto end = std::ranges::find_if(groups, [](const Group& group) { return group.rerolls.has_value(); });
  return groups.first(end - groups.begin());
}

int64_t num_samples(std::span<const Group> groups) {
  int64_t count = 0;
  for (const Group& group : groups) count += std::ssize(group.samples);
  return count;
}

int64_t num_sequences(std::span<const Group> groups) {
  int64_t count = 0;
  for_each_sequence(groups, [&](const Sample&) { ++count; });
  return count;
}

std::vector<const Sample*> sequences_of(const Group& group) {
  std::vector<const Sample*> sequences;
  for_each_sequence(std::span(&group, 1), [&](const Sample& sequence) { sequences.push_back(&sequence); });
  return sequences;
}

std::vector<int64_t> group_ends_of(std::span<const Group> groups) {
  std::vector<int64_t> ends;
  ends.reserve(groups.size());
  for (const Group& group : groups)
    ends.push_back((ends.empty() ? 0 : ends.back()) + num_sequences({&group, 1}));
  return ends;
}

std::vector<double> betas_of(std::span<const Group> groups) {
  std::vector<double> betas;
  for (const Group& group : groups) {
    if (group.beta) betas.insert(betas.end(), num_sequences({&group, 1}), *group.beta);
  }
  return betas;
}

void set_mask(Sample& sample, LossMask mask) {
  sample.mask = mask;
  for (Sample& branch : sample.branches) branch.mask = mask;
}

const std::vector<int32_t>& prompt_ids_of(const Prompt& prompt, const Sample& sequence) {
  return sequence.prompt_ids.empty() ? prompt.token_ids : sequence.prompt_ids;
}

std::vector<double> rewards_of(const Group& group) {
  std::vector<double> rewards;
  rewards.reserve(group.samples.size());
  for (const Sample& sample : group.samples) rewards.push_back(sample.reward);
  return rewards;
}

int64_t total_tokens(std::span<const Group> groups) {
  int64_t total = 0;
  for (const Group& group : groups) {
    for_each_sequence(std::span(&group, 1), [&](const Sample& sequence) {
      total += std::ssize(prompt_ids_of(group.prompt, sequence)) + std::ssize(sequence.completion.token_ids);
    });
  }
  return total;
}

int64_t total_tokens(const Batch& batch) {
  int64_t total = total_tokens(batch.groups);
  for (const UntrainedGroup& untrained : batch.untrained) total += total_tokens({&untrained.group, 1});
  return total;
}

double total_reward(std::span<const RewardResult> rewards, std::span<const double> weights) {
  COHORT_CHECK(weights.size() == rewards.size());
  double total = 0.0;
  bool any_ok = false;
  for (size_t c = 0; c < rewards.size(); ++c) {
    const RewardResult& cell = rewards[c];
    if (weights[c] == 0.0 || cell.status == RewardStatus::kSkipped) continue;
    if (cell.status != RewardStatus::kOk || !std::isfinite(cell.score)) return kNoReward;
    any_ok = true;
    total += weights[c] * cell.score;
  }
  return any_ok ? total : kNoReward;
}

void add_up_rewards(Batch& batch) {
  const auto add_up = [&](Sample& sample) {
    sample.reward = total_reward(sample.rewards, batch.reward_weights);
  };
  for_each_sequence(batch.groups, add_up);
  for (UntrainedGroup& untrained : batch.untrained) for_each_sequence(std::span(&untrained.group, 1), add_up);
}

}  // namespace cohort
