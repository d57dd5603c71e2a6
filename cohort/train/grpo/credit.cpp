#include "cohort/train/grpo/credit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "cohort/core/error.h"
#include "cohort/objectives/advantage_algebra.h"
#include "cohort/objectives/baseline.h"
#include "cohort/objectives/credit_rule.h"
#include "cohort/objectives/sample_statistics.h"
#include "cohort/train/grpo/rerolls.h"

namespace cohort {
namespace {

/// A sample that is in the statistics of its group. Borrows it from the batch.
struct JudgedSample {
  const Sample* sample;
  Sample* trained;         ///< null: it is not trained on
  double reward;           ///< nan: none
  bool is_branch = false;  ///< of the last sample before it that is none
};

struct JudgedSamples {
  std::vector<JudgedSample> samples;  ///< in each group those that are trained on stand first
  std::vector<int64_t> ends;          ///< per group
  bool has_untrained = false;
};

void add_untrained(const Batch& batch, int64_t group, JudgedSamples& judged) {
  for (const UntrainedGroup& other : batch.untrained) {
    if (other.of != group || other.reason == Untrained::kGreedy) continue;
    judged.has_untrained = true;
    for (const Sample& sample : other.group.samples)
      judged.samples.push_back({&sample, nullptr, sample.reward});
  }
}

/// Puts a pivot that was taken out where it was drawn, so that sums have the order that they had.
void restore_order(std::span<JudgedSample> group) {
  std::ranges::stable_sort(group, {}, [](const JudgedSample& each) {
    const Sample& sample = *each.sample;
    return sample.is_demonstration ? std::numeric_limits<int64_t>::max() : sample.completion.sample;
  });
}

JudgedSamples judged_samples(Batch& batch, const AdvantageConfig& config) {
  JudgedSamples judged;
  for (size_t g = 0; g < batch.groups.size(); ++g) {
    const size_t begin = judged.samples.size();
    for (Sample& sample : batch.groups[g].samples) {
      const double reward = sample.mask == LossMask::kMonitor ? kNoReward : sample.reward;
      judged.samples.push_back({&sample, &sample, reward});
      for (Sample& branch : sample.branches)
        judged.samples.push_back({&branch, &branch, kNoReward, /*is_branch=*/true});
    }
    add_untrained(batch, static_cast<int64_t>(g), judged);
    if (config.drop_pivot) restore_order(std::span(judged.samples).subspan(begin));
    judged.ends.push_back(std::ssize(judged.samples));
  }
  return judged;
}

at::Tensor total_rewards(const JudgedSamples& judged) {
  std::vector<double> values;
  values.reserve(judged.samples.size());
  for (const JudgedSample& each : judged.samples) values.push_back(each.reward);
  return at::tensor(values, at::kDouble);
}

/// [N] the place of the sample whose credit each one has: its own, or its episode's.
std::vector<int64_t> owners_of(const JudgedSamples& judged) {
  std::vector<int64_t> owners;
  owners.reserve(judged.samples.size());
  for (const JudgedSample& each : judged.samples)
    owners.push_back(each.is_branch ? owners.back() : std::ssize(owners));
  return owners;
}

/// [N] where each sample left its tree.
std::vector<Fork> forks_of(const JudgedSamples& judged) {
  std::vector<Fork> forks;
  forks.reserve(judged.samples.size());
  for (const JudgedSample& each : judged.samples) {
    const std::optional<ForkPlace>& fork = each.sample->fork;
    forks.push_back(fork ? Fork{fork->of, fork->num_segments} : Fork());
  }
  return forks;
}

/// [N] the group of each sample.
at::Tensor group_numbers(const JudgedSamples& judged) {
  std::vector<int64_t> numbers;
  for (size_t g = 0; g < judged.ends.size(); ++g) numbers.resize(judged.ends[g], static_cast<int64_t>(g));
  return at::tensor(numbers, at::kLong);
}

/// [N, C]; nan where a function has no say, and for samples without a total reward.
at::Tensor reward_columns(const JudgedSamples& judged) {
  std::vector<double> values;
  values.reserve(judged.samples.size());
  for (const JudgedSample& each : judged.samples) {
    for (const RewardResult& cell : each.sample->rewards) {
      const bool counts = !std::isnan(each.reward) && cell.status == RewardStatus::kOk;
      values.push_back(counts ? cell.score : kNoReward);
    }
  }
  return at::tensor(values, at::kDouble).reshape({std::ssize(judged.samples), -1});
}

/// [M] a column of all samples, one after the other.
template <typename F>
at::Tensor joined(const JudgedSamples& judged, F values_of) {
  std::vector<float> all;
  for (const JudgedSample& each : judged.samples) {
    const std::vector<float>& values = values_of(*each.sample);
    COHORT_CHECK(std::ssize(values) == each.sample->completion.num_sampled());
    all.insert(all.end(), values.begin(), values.end());
  }
  return at::tensor(all, at::kFloat).to(at::kDouble);
}

/// Sets the greedy baseline. A group whose greedy sample has no reward has nothing to be judged against.
void read_greedy(const Batch& batch, JudgedSamples& judged, AdvantageInput& input) {
  std::vector<double> rewards(batch.groups.size(), kNoReward);
  for (const UntrainedGroup& other : batch.untrained) {
    if (other.reason == Untrained::kGreedy) rewards[other.of] = other.group.samples.front().reward;
  }
  int64_t begin = 0;
  for (size_t g = 0; g < rewards.size(); ++g) {
    if (std::isnan(rewards[g])) {
      for (int64_t i = begin; i < judged.ends[g]; ++i) judged.samples[i].reward = kNoReward;
      rewards[g] = 0.0;
    }
    begin = judged.ends[g];
  }
  input.greedy_rewards = at::tensor(rewards, at::kDouble);
}

/// A step's reward, and the state before it under credit by states.
struct StatedStep {
  int64_t end;  ///< tokens up to its end
  double score;
  int64_t state = 0;
};

/// The weighted steps of a sample by all functions that judge step by step.
std::vector<StatedStep> judged_steps(const Batch& batch, const JudgedSample& judged) {
  std::vector<StatedStep> steps;
  for (size_t c = 0; c < judged.sample->rewards.size(); ++c) {
    if (!batch.gives_steps[c] || batch.reward_weights[c] == 0.0) continue;
    for (const StepReward& step : judged.sample->rewards[c].steps)
      steps.push_back({step.end, batch.reward_weights[c] * step.score});
  }
  return steps;
}

/// A step for each turn, with the sum of its weighted rewards. Rewards of the whole completion, and those
/// behind its last turn, are at that turn. Throws ConfigError for a completion without states.
std::vector<StatedStep> turns_of(const Batch& batch, const JudgedSample& judged) {
  const Completion& completion = judged.sample->completion;
  const std::vector<int64_t> ends = turn_ends(completion);
  std::vector<StatedStep> turns;
  if (ends.empty()) return turns;
  if (!completion.episode || std::ssize(completion.episode->turn_states) != std::ssize(ends))
    throw ConfigError("objective.credit is by states, and an episode has no state before each of its turns");
  for (size_t k = 0; k < ends.size(); ++k)
    turns.push_back({ends[k], 0.0, completion.episode->turn_states[k]});
  double rest = 0.0;
  for (size_t c = 0; c < judged.sample->rewards.size(); ++c) {
    const RewardResult& result = judged.sample->rewards[c];
    if (!batch.gives_steps[c] && result.status == RewardStatus::kOk && batch.reward_weights[c] != 0.0)
      rest += batch.reward_weights[c] * result.score;
  }
  for (const StatedStep& step : judged_steps(batch, judged)) {
    const auto turn = std::ranges::lower_bound(ends, step.end);
    turns[std::min<size_t>(turn - ends.begin(), ends.size() - 1)].score += step.score;
  }
  turns.back().score += rest;
  return turns;
}

std::vector<StatedStep> steps_of(const Batch& batch, const JudgedSample& judged, bool is_of_states) {
  if (std::isnan(judged.reward)) return {};
  return is_of_states ? turns_of(batch, judged) : judged_steps(batch, judged);
}

/// The number, among the sampled tokens, of the last one before token `end`; -1 if the step ends before the
/// first sampled token. A completion without sampled tokens has its steps at 0: they count in the statistics.
int64_t last_sampled_token(const Completion& completion, int64_t end) {
  if (completion.num_sampled() == 0) return 0;
  return completion.num_sampled_before(end) - 1;
}

/// Sets the steps as [N, K] with the last sampled token of each; -1: there is none.
void read_steps(const Batch& batch, const JudgedSamples& judged, bool is_of_states, AdvantageInput& input) {
  std::vector<std::vector<StatedStep>> all;
  all.reserve(judged.samples.size());
  size_t most = 1;
  for (const JudgedSample& each : judged.samples) {
    all.push_back(steps_of(batch, each, is_of_states));
    most = std::max(most, all.back().size());
  }
  const std::vector<int64_t> sizes = {std::ssize(all), static_cast<int64_t>(most)};
  input.rewards = at::full(sizes, kNoReward, at::kDouble);
  input.step_ends = at::full(sizes, -1, at::kLong);
  at::Tensor states = at::zeros(sizes, at::kLong);
  double* score = input.rewards.mutable_data_ptr<double>();
  int64_t* end = input.step_ends.mutable_data_ptr<int64_t>();
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t k = 0; k < all[i].size(); ++k) {
      score[i * most + k] = all[i][k].score;
      end[i * most + k] = last_sampled_token(judged.samples[i].sample->completion, all[i][k].end);
      states.mutable_data_ptr<int64_t>()[i * most + k] = all[i][k].state;
    }
  }
  if (is_of_states) input.step_states = states;
}

/// [N] the weighted sums of the rewards that judge whole completions.
at::Tensor outcome_rewards(const Batch& batch, const JudgedSamples& judged) {
  std::vector<double> weights = batch.reward_weights;
  for (size_t c = 0; c < weights.size(); ++c) {
    if (batch.gives_steps[c]) weights[c] = 0.0;
  }
  std::vector<double> values;
  values.reserve(judged.samples.size());
  for (const JudgedSample& each : judged.samples)
    values.push_back(std::isnan(each.reward) ? kNoReward : total_reward(each.sample->rewards, weights));
  return at::tensor(values, at::kDouble);
}

void read_rewards(const Batch& batch, const AdvantageConfig& config, JudgedSamples& judged,
                  AdvantageInput& input) {
  if (config.is_stepwise()) {
    const CreditRule& credit = find_credit_rule(config.credit);
    read_steps(batch, judged, credit.is_of_states, input);
    if (credit.adds_outcomes)
      input.outcome_rewards = credit.is_of_states ? total_rewards(judged) : outcome_rewards(batch, judged);
  } else if (config.normalizes_each_reward()) {
    input.rewards = reward_columns(judged);
    input.reward_weights = batch.reward_weights;
  } else {
    input.rewards = total_rewards(judged);
  }
}

AdvantageInput advantage_input(const Batch& batch, const AdvantageConfig& config, JudgedSamples& judged) {
  AdvantageInput input;
  if (find_baseline(config.baseline).reads_greedy) read_greedy(batch, judged, input);
  input.group_ends = judged.ends;
  if (std::ranges::any_of(judged.samples, &JudgedSample::is_branch)) input.owners = owners_of(judged);
  if (find_baseline(config.baseline).reads_forks) input.forks = forks_of(judged);
  for (const Group& group : batch.groups) {
    if (group.num_kept > 0) input.group_k.push_back(group.num_kept);
  }
  for (const JudgedSample& each : judged.samples) {
    input.lengths.push_back(each.sample->completion.num_sampled());
    input.is_truncated.push_back(each.sample->completion.finish_reason == FinishReason::kLength);
  }
  read_rewards(batch, config, judged, input);
  input.old_logprobs = joined(judged, [](const Sample& sample) -> auto& { return sample.policy_logprobs(); });
  if (config.puts_kl_in_reward()) {
    input.betas = betas_of(batch.groups);
    input.ref_logprobs = joined(judged, [](const Sample& sample) -> auto& { return sample.ref_logprobs; });
  }
  if (reads_entropies(config))
    input.entropies = joined(judged, [](const Sample& sample) -> auto& { return sample.entropies; });
  if (find_baseline(config.baseline).is_critic)
    input.values = joined(judged, [](const Sample& sample) -> auto& { return sample.values; });
  return input;
}

void give(const AdvantageOutput& output, const JudgedSamples& judged) {
  const at::Tensor values = output.values.to(at::kCPU, at::kDouble).contiguous();
  const double* value = values.const_data_ptr<double>();
  const at::Tensor returns =
      output.returns.defined() ? output.returns.to(at::kCPU, at::kDouble).contiguous() : at::Tensor();
  const double* learnt = returns.defined() ? returns.const_data_ptr<double>() : nullptr;
  for (const JudgedSample& each : judged.samples) {
    const int64_t length = output.is_per_token ? each.sample->completion.num_sampled() : 1;
    if (each.trained != nullptr) {
      each.trained->token_advantages.clear();
      each.trained->returns.clear();
      if (output.is_per_token) each.trained->token_advantages.assign(value, value + length);
      each.trained->advantage = length > 0 ? *value : 0.0;
      if (learnt != nullptr) each.trained->returns.assign(learnt, learnt + length);
    }
    value += length;
    if (learnt != nullptr) learnt += length;
  }
}

/// [N] the user's advantages, in which an episode counts once.
at::Tensor values_by(const AdvantageFunction& function, const JudgedSamples& judged) {
  const at::Tensor owners = at::tensor(owners_of(judged), at::kLong);
  const auto [samples, places, counts] = at::unique_consecutive(owners, /*return_inverse=*/true);
  const at::Tensor values = own_advantages(function, total_rewards(judged).index({samples}),
                                           group_numbers(judged).index({samples}));
  return values.index({places});
}

/// [N] whether a sample takes part under these settings, branches left out.
std::vector<uint8_t> kept_samples(Batch& batch, const AdvantageConfig& config) {
  JudgedSamples judged = judged_samples(batch, config);
  const at::Tensor is_kept = advantages_of(advantage_input(batch, config, judged), config).is_kept.cpu();
  std::vector<uint8_t> kept;
  for (size_t i = 0; i < judged.samples.size(); ++i) {
    if (!judged.samples[i].is_branch) kept.push_back(is_kept[static_cast<int64_t>(i)].item<bool>());
  }
  return kept;
}

/// Over the samples that are trained on, whatever they are judged against.
Spread spread_of_trained(const JudgedSamples& judged) {
  std::vector<double> rewards;
  for (const JudgedSample& each : judged.samples) {
    if (each.trained != nullptr && !each.is_branch) rewards.push_back(each.sample->reward);
  }
  return spread_of(rewards, 1);
}

}  // namespace

RewardSummary assign_credit(Batch& batch, const AdvantageConfig& config, const AdvantageFunction& own) {
  JudgedSamples judged = judged_samples(batch, config);
  AdvantageOutput output = advantages_of(advantage_input(batch, config, judged), config);
  if (own) output.values = values_by(own, judged);
  give(output, judged);
  give_recovery(batch, config, own);
  for (size_t g = 0; g < batch.groups.size(); ++g)
    batch.groups[g].has_no_difference = output.has_no_difference[g] != 0;
  RewardSummary summary{output.reward_mean, output.reward_std, output.frac_reward_zero_std};
  if (judged.has_untrained || config.is_stepwise() || find_baseline(config.baseline).reads_greedy) {
    const Spread spread = spread_of_trained(judged);
    summary.mean = spread.mean;
    summary.std = spread.std;
  }
  return summary;
}

void take_out_pivots(Batch& batch, const AdvantageConfig& config) {
  AdvantageConfig with_pivots = config;
  with_pivots.drop_pivot = false;
  const std::vector<uint8_t> kept = kept_samples(batch, config), all = kept_samples(batch, with_pivots);
  size_t place = 0;
  for (size_t g = 0; g < batch.groups.size(); ++g) {
    Group& group = batch.groups[g];
    UntrainedGroup pivots{{.prompt = group.prompt}, Untrained::kNotKept, static_cast<int64_t>(g)};
    std::vector<Sample> others;
    for (Sample& sample : group.samples) {
      const bool is_pivot = kept[place] != all[place];
      ++place;
      (is_pivot ? pivots.group.samples : others).push_back(std::move(sample));
    }
    group.samples = std::move(others);
    if (!pivots.group.samples.empty()) batch.untrained.push_back(std::move(pivots));
  }
}

double mean_reward_kl(std::span<const Group> groups) {
  double sum = 0.0, count = 0.0;
  for_each_sequence(groups, [&](const Sample& sample) {
    const std::vector<float>& ref = sample.ref_logprobs;
    COHORT_CHECK(std::ssize(ref) == sample.completion.num_sampled());
    for (size_t t = 0; t < ref.size(); ++t) sum += static_cast<double>(sample.policy_logprobs()[t]) - ref[t];
    count += static_cast<double>(ref.size());
  });
  return count > 0.0 ? sum / count : kNoReward;
}

bool needs_entropies(const ObjectiveSettings& settings) {
  return reads_entropies(settings.advantages) || settings.loss.top_entropy_quantile < 1.0;
}

}  // namespace cohort
