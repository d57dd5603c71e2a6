#include "cohort/train/run/evaluation.h"

#include <algorithm>
#include <limits>

#include "cohort/core/error.h"
#include "cohort/sampler/prompt_batches.h"
#include "cohort/train/run/rollout_share.h"

namespace cohort {
namespace {

struct Mean {
  double sum = 0.0;
  int64_t count = 0;

  void add(double value) {
    sum += value;
    ++count;
  }
  std::optional<double> value() const {
    return count > 0 ? std::optional<double>(sum / count) : std::nullopt;
  }
};

/// cons@k over all prompts; nothing for a reward that read no answer in any completion.
std::map<int64_t, double> majority_figures(const std::vector<GroupVotes>& votes, int64_t column) {
  std::map<int64_t, Mean> cons_at;
  bool reads_answers = false;
  for (const GroupVotes& group : votes) {
    const std::vector<Vote>& cast = group[column];
    for (const Vote& vote : cast) reads_answers |= vote.answer >= 0;
    for (int64_t k = 2; k <= std::ssize(cast); k *= 2) cons_at[k].add(cons_at_k(cast, k));
  }
  std::map<int64_t, double> figures;
  if (!reads_answers) return figures;
  for (const auto& [k, mean] : cons_at) figures[k] = *mean.value();
  return figures;
}

RewardEvaluation evaluate_reward(const Batch& batch, size_t column) {
  RewardEvaluation result;
  result.name = batch.reward_names[column];
  Mean mean;
  std::map<int64_t, Mean> pass_at;
  for (const Group& group : batch.groups) {
    int64_t num_judged = 0, num_successes = 0;
    for (const Sample& sample : group.samples) {
      const RewardResult& cell = sample.rewards.at(column);
      ++result.status_counts[static_cast<size_t>(cell.status)];
      if (cell.status != RewardStatus::kOk) continue;
      mean.add(cell.score);
      ++num_judged;
      num_successes += cell.score >= 1.0;
    }
    for (int64_t k = 1; k <= num_judged; k *= 2) pass_at[k].add(pass_at_k(num_judged, num_successes, k));
  }
  result.mean = mean.value();
  for (const auto& [k, pass] : pass_at) result.pass_at[k] = *pass.value();
  return result;
}

void add_lengths(const std::vector<Group>& groups, Evaluation& result) {
  Mean length;
  for_each_sample(groups, [&](const Sample& sample) {
    const int64_t num_tokens = sample.completion.num_sampled();
    result.min_length = length.count == 0 ? num_tokens : std::min(result.min_length, num_tokens);
    result.max_length = std::max(result.max_length, num_tokens);
    result.num_stopped += sample.completion.finish_reason == FinishReason::kStop;
    length.add(static_cast<double>(num_tokens));
  });
  result.num_completions = length.count;
  result.mean_length = length.value().value_or(0.0);
}

GroupVotes all_votes(const RewardScorer& scorer, const Group& group) {
  GroupVotes votes;
  for (size_t reward = 0; reward < scorer.names().size(); ++reward)
    votes.push_back(read_votes(scorer.reward(static_cast<int64_t>(reward)), group, reward));
  return votes;
}

}  // namespace

double pass_at_k(int64_t n, int64_t c, int64_t k) {
  COHORT_CHECK(0 <= c && c <= n && 1 <= k && k <= n);
  double all_fail = 1.0;
  for (int64_t i = n - c + 1; i <= n; ++i) all_fail *= static_cast<double>(i - k) / static_cast<double>(i);
  return 1.0 - all_fail;
}

Evaluation summarize(const Batch& batch, const std::vector<GroupVotes>& votes) {
  COHORT_CHECK(!batch.groups.empty());
  Evaluation result;
  result.num_prompts = std::ssize(batch.groups);
  add_lengths(batch.groups, result);
  for (size_t reward = 0; reward < batch.reward_names.size(); ++reward) {
    result.rewards.push_back(evaluate_reward(batch, reward));
    result.rewards.back().cons_at = majority_figures(votes, static_cast<int64_t>(reward));
  }
  Mean total;
  for_each_sample(batch.groups, [&](const Sample& sample) {
    if (sample.has_reward()) total.add(sample.reward);
  });
  result.mean_reward = total.value();
  return result;
}

Evaluation evaluate(Sampler& sampler, const std::vector<Prompt>& prompts, int64_t num_generations,
                    const SamplingParams& params, RewardScorer& scorer, const RolloutAddress& address,
                    const OnGroup& on_group, TurnHandler* turns, dist::Group& processes) {
  Batch judged{.reward_names = scorer.names(), .reward_weights = scorer.weights()};
  std::vector<GroupVotes> votes;
  for (const PromptBatch& batch : prompt_batches(prompts, num_generations)) {
    RolloutAddress batch_address = address;
    batch_address.first_prompt += static_cast<uint64_t>(batch.first);
    const std::vector<int64_t> sizes(batch.prompts.size(), num_generations);
    const RolloutShare share =
        share_of(whole_rollout(batch.prompts, sizes, batch_address), /*num_minibatches=*/1,
                 /*keeps_groups=*/true, processes.rank(), processes.size());
    const auto score = [&](int64_t prompt, int64_t sample, const Completion& completion) {
      scorer.submit(batch.first + prompt, sample, share.prompts[prompt], completion);
    };
    std::vector<Group> groups;
    if (!share.prompts.empty())
      groups = sampler.rollout(share.prompts, share.sizes, params, share.address, 0, score, nullptr, turns);
    scorer.close(batch.first, batch.first + std::ssize(groups));
    int64_t place = batch.first;
    for (Group& group : groups) {
      take_rewards(scorer, place++, group);
      for (Sample& sample : group.samples)
        sample.reward = total_reward(sample.rewards, judged.reward_weights);
    }
    for (Group& group : gather_groups(std::move(groups), share, std::ssize(batch.prompts), processes)) {
      if (on_group) on_group(group);
      votes.push_back(all_votes(scorer, group));
      judged.groups.push_back(std::move(group));
    }
  }
  return summarize(judged, votes);
}

Metrics evaluation_metrics(const Evaluation& evaluation) {
  constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();  // null in metrics.jsonl
  Metrics metrics{{"eval_reward", evaluation.mean_reward.value_or(kNothing)}};
  for (const RewardEvaluation& reward : evaluation.rewards) {
    const std::string prefix = "eval_rewards/" + reward.name + "/";
    metrics.emplace_back(prefix + "mean", reward.mean.value_or(kNothing));
    for (int64_t status = 1; status < kNumRewardStatuses; ++status) {
      metrics.emplace_back(prefix + to_string(static_cast<RewardStatus>(status)),
                           reward.status_counts[status]);
    }
    for (const auto& [k, share] : reward.pass_at) metrics.emplace_back(str(prefix, "pass@", k), share);
    for (const auto& [k, share] : reward.cons_at) metrics.emplace_back(str(prefix, "cons@", k), share);
  }
  metrics.emplace_back("eval_completions/mean_length", evaluation.mean_length);
  return metrics;
}

std::vector<std::string> evaluation_metric_names(const std::vector<std::string>& rewards,
                                                 int64_t num_generations) {
  Evaluation evaluation;
  for (const std::string& name : rewards) {
    RewardEvaluation& reward = evaluation.rewards.emplace_back();
    reward.name = name;
    for (int64_t k = 1; k <= num_generations; k *= 2) reward.pass_at[k] = 0.0;
    for (int64_t k = 2; k <= num_generations; k *= 2) reward.cons_at[k] = 0.0;
  }
  std::vector<std::string> names;
  for (const auto& [name, value] : evaluation_metrics(evaluation)) names.push_back(name);
  return names;
}

}  // namespace cohort
