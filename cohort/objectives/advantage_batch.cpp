#include "cohort/objectives/advantage_batch.h"

#include <cmath>
#include <limits>
#include <numeric>

#include "cohort/core/error.h"
#include "cohort/objectives/baseline.h"
#include "cohort/objectives/credit_rule.h"
#include "cohort/tensor/check.h"

namespace cohort {
namespace {

constexpr double kNoReward = std::numeric_limits<double>::quiet_NaN();

bool reads_lengths(const AdvantageConfig& config) {
  const CreditRule& credit = find_credit_rule(config.credit);
  return credit.is_of_steps || credit.tokens_pay_kl || credit.reads_entropies || config.token_whiten ||
         config.gfpo_k > 0 || config.length_corrected_rewards || config.puts_kl_in_reward() ||
         find_baseline(config.baseline).reads_lengths;
}

/// The numbers of a tensor that a setting reads, which must be there.
std::vector<double> wanted_numbers(const at::Tensor& tensor, int64_t size, const char* name,
                                   const std::string& reader) {
  if (!tensor.defined()) throw ConfigError(str(reader, " needs ", name, ": give them"));
  check_shape(tensor, {size}, name);
  std::vector<double> numbers = plain_numbers(tensor);
  for (const double number : numbers) {
    if (!std::isfinite(number))
      throw ConfigError(str(name, " holds ", number, ", which ", reader, " cannot use"));
  }
  return numbers;
}

void check_groups(const AdvantageInput& input) {
  COHORT_CHECK(input.rewards.defined() && (input.rewards.dim() == 1 || input.rewards.dim() == 2),
               "rewards are [N], [N, C] or, with step_ends, [N, K]");
  const int64_t num_completions = input.rewards.size(0);
  int64_t begin = 0;
  for (const int64_t end : input.group_ends) {
    COHORT_CHECK(begin <= end);
    begin = end;
  }
  COHORT_CHECK(begin == num_completions, "groups of ", begin, " completions, rewards of ", num_completions);
  for (const int64_t length : input.lengths) COHORT_CHECK(length >= 0);
  COHORT_CHECK(input.owners.empty() || std::ssize(input.owners) == num_completions);
  for (int64_t i = 0; i < std::ssize(input.owners); ++i) {
    const int64_t owner = input.owners[i];
    COHORT_CHECK(owner == i || (0 <= owner && owner < i && input.owners[owner] == owner));
    COHORT_CHECK(owner == i || at::isnan(input.rewards[i]).all().item<bool>(), "completion ", i,
                 " has a reward beside its episode's");
  }
}

void read_lengths(const AdvantageInput& input, const AdvantageConfig& config, AdvantageBatch& batch) {
  if (!reads_lengths(config)) return;
  if (input.lengths.empty() && batch.num_completions > 0)
    throw ConfigError("these settings read the completions' lengths: give a mask or lengths");
  COHORT_CHECK(static_cast<int64_t>(input.lengths.size()) == batch.num_completions);
  batch.lengths = input.lengths;
  batch.offsets = {0};
  for (const int64_t length : batch.lengths) batch.offsets.push_back(batch.offsets.back() + length);
}

void read_token_numbers(const AdvantageInput& input, const AdvantageConfig& config, AdvantageBatch& batch) {
  const int64_t num_tokens = batch.num_tokens();
  const Baseline& baseline = find_baseline(config.baseline);
  const std::string reader_name = "baseline " + config.baseline;
  if (reads_entropies(config)) {
    batch.entropies = wanted_numbers(input.entropies, num_tokens, "entropies", "credit " + config.credit);
  }
  if (baseline.is_critic) batch.values = wanted_numbers(input.values, num_tokens, "values", reader_name);
  if (config.puts_kl_in_reward()) {
    const std::string reader = "kl_place reward with beta";
    batch.kl_penalties = wanted_numbers(input.old_logprobs, num_tokens, "old_logprobs", reader);
    const std::vector<double> ref = wanted_numbers(input.ref_logprobs, num_tokens, "ref_logprobs", reader);
    for (int64_t i = 0; i < batch.num_completions; ++i) {
      const double beta = input.betas.empty() ? config.beta : input.betas.at(i);
      for (int64_t t = batch.offsets[i]; t < batch.offsets[i + 1]; ++t)
        batch.kl_penalties[t] = beta * (batch.kl_penalties[t] - ref[t]);
    }
  }
  if (baseline.reads_old_logprobs) {
    std::vector<double> old = wanted_numbers(input.old_logprobs, num_tokens, "old_logprobs", reader_name);
    for (int64_t i = 0; i < batch.num_completions; ++i) {
      const auto own = batch.own(old, i);
      const double sum = std::accumulate(own.begin(), own.end(), 0.0);
      batch.mean_logprobs.push_back(own.empty() ? 0.0 : sum / static_cast<double>(own.size()));
    }
  }
}

/// Rewards of weight 0 are as if they were not there.
std::vector<double> weighted_sums(const AdvantageBatch& batch) {
  std::vector<double> totals(batch.num_completions, kNoReward);
  for (size_t c = 0; c < batch.channels.size(); ++c) {
    if (batch.weights[c] == 0.0) continue;
    for (int64_t i = 0; i < batch.num_completions; ++i) {
      const double reward = batch.weights[c] * batch.channels[c][i];
      if (!std::isnan(reward)) totals[i] = std::isnan(totals[i]) ? reward : totals[i] + reward;
    }
  }
  return totals;
}

void read_rewards(const AdvantageInput& input, AdvantageBatch& batch) {
  const int64_t num_channels = input.rewards.dim() == 1 ? 1 : input.rewards.size(1);
  batch.weights = input.reward_weights;
  if (batch.weights.empty()) batch.weights.assign(num_channels, 1.0);
  COHORT_CHECK(static_cast<int64_t>(batch.weights.size()) == num_channels, batch.weights.size(),
               " weights of ", num_channels, " rewards");
  const std::vector<double> rewards = plain_numbers(input.rewards);
  batch.channels.assign(num_channels, {});
  for (int64_t i = 0; i < batch.num_completions; ++i) {
    for (int64_t c = 0; c < num_channels; ++c) {
      const double reward = rewards[i * num_channels + c];
      if (std::isinf(reward))
        throw ConfigError(str("completion ", i, " has the reward ", reward, ": give a number"));
      batch.channels[c].push_back(reward);
    }
  }
  batch.totals = weighted_sums(batch);
}

}  // namespace

std::vector<double> plain_numbers(const at::Tensor& tensor) {
  if (!tensor.defined()) return {};
  const at::Tensor numbers = tensor.detach().to(at::kCPU, at::kDouble).contiguous();
  const double* data = numbers.const_data_ptr<double>();
  return {data, data + numbers.numel()};
}

AdvantageBatch read_batch(const AdvantageInput& input, const AdvantageConfig& config) {
  check_groups(input);
  AdvantageBatch batch;
  batch.num_completions = input.rewards.size(0);
  batch.ends = input.group_ends;
  batch.owners = input.owners;
  batch.is_kept.assign(batch.num_completions, 1);
  read_lengths(input, config, batch);
  read_token_numbers(input, config, batch);
  if (find_baseline(config.baseline).reads_greedy) {
    const auto num_groups = static_cast<int64_t>(batch.ends.size());
    batch.greedy_scores =
        wanted_numbers(input.greedy_rewards, num_groups, "greedy_rewards", "baseline " + config.baseline);
  }
  if (find_baseline(config.baseline).reads_forks) {
    if (input.forks.empty() && batch.num_completions > 0)
      throw ConfigError(str("baseline ", config.baseline,
                            " compares the completions of a tree: give fork_of and fork_segments"));
    COHORT_CHECK(std::ssize(input.forks) == batch.num_completions);
    batch.forks = input.forks;
  }
  if (config.gfpo_k > 0) {
    batch.group_k = input.group_k;
    if (batch.group_k.empty()) batch.group_k.assign(batch.ends.size(), config.gfpo_k);
  }
  if (config.drop_truncated) {
    if (input.is_truncated.empty() && batch.num_completions > 0)
      throw ConfigError("drop_truncated needs to know which completions were cut: give is_truncated");
    COHORT_CHECK(static_cast<int64_t>(input.is_truncated.size()) == batch.num_completions);
    for (int64_t i = 0; i < batch.num_completions; ++i) batch.is_kept[i] = !input.is_truncated[i];
  }
  const CreditRule& credit = find_credit_rule(config.credit);
  if (credit.is_of_steps != input.step_ends.defined()) {
    throw ConfigError(
        credit.is_of_steps
            ? str("credit ", config.credit, " needs step_ends: give each step's last token")
            : "step_ends are for credit steps, segments, turns or gigpo: set one, or leave them "
              "out");
  }
  if (input.outcome_rewards.defined() && !credit.adds_outcomes)
    throw ConfigError("outcome_rewards are for credit steps and gigpo: set one, or leave them out");
  if (credit.is_of_states && !input.step_states.defined())
    throw ConfigError(
        str("credit ", config.credit, " needs step_states: give a number for the state before each step"));
  if (!credit.is_of_steps) read_rewards(input, batch);
  return batch;
}

ScaleOptions scale_options(const AdvantageConfig& config) {
  return {.kind = config.scale_rewards, .ddof = config.scale_ddof, .epsilon = config.scale_epsilon};
}

std::vector<double> normalised_scores(const ScoredGroups& groups, const AdvantageConfig& config) {
  return scaled_scores(centred_scores(groups, config.baseline), groups, scale_options(config));
}

StepList read_steps(const AdvantageInput& input, const AdvantageBatch& batch) {
  COHORT_CHECK(input.rewards.dim() == 2);
  const int64_t num_steps = input.rewards.size(1);
  check_shape(input.step_ends, {batch.num_completions, num_steps}, "step_ends");
  check_dtype(input.step_ends, at::kLong, "step_ends");
  const std::vector<double> rewards = plain_numbers(input.rewards);
  const at::Tensor token_ends = input.step_ends.cpu().contiguous();
  const int64_t* ends = token_ends.const_data_ptr<int64_t>();
  const bool has_states = input.step_states.defined();
  if (has_states) {
    check_shape(input.step_states, {batch.num_completions, num_steps}, "step_states");
    check_dtype(input.step_states, at::kLong, "step_states");
  }
  const at::Tensor states = has_states ? input.step_states.cpu().contiguous() : token_ends;
  StepList steps;
  size_t group = 0;
  for (int64_t i = 0; i < batch.num_completions; ++i) {
    for (; batch.ends[group] <= i; ++group) steps.ends.push_back(static_cast<int64_t>(steps.scores.size()));
    for (int64_t k = i * num_steps; k < (i + 1) * num_steps; ++k) {
      if (std::isinf(rewards[k]))
        throw ConfigError(str("a step of completion ", i, " has the reward ", rewards[k]));
      if (!batch.is_kept[i] || ends[k] < 0 || std::isnan(rewards[k])) continue;
      steps.scores.push_back(rewards[k]);
      steps.completions.push_back(i);
      steps.token_ends.push_back(ends[k]);
      if (has_states) steps.states.push_back(states.const_data_ptr<int64_t>()[k]);
    }
  }
  steps.ends.resize(batch.ends.size(), static_cast<int64_t>(steps.scores.size()));
  return steps;
}

}  // namespace cohort
