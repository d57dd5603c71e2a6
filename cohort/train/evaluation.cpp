#include "cohort/train/evaluation.h"

#include <algorithm>

#include "cohort/core/error.h"
#include "cohort/objectives/advantage.h"
#include "cohort/sampler/prompt_batches.h"

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

RewardEvaluation evaluate_reward(const std::vector<RewardMatrix>& rewards, int64_t column) {
  RewardEvaluation result;
  result.name = rewards.front().names()[column];
  Mean mean;
  std::map<int64_t, Mean> pass_at;
  for (const RewardMatrix& matrix : rewards) {
    int64_t num_judged = 0, num_successes = 0;
    for (int64_t i = 0; i < matrix.num_completions(); ++i) {
      const RewardResult& cell = matrix.at(i, column);
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

void add_lengths(const std::vector<RolloutGroup>& groups, Evaluation& result) {
  Mean length;
  for (const RolloutGroup& group : groups) {
    for (const Completion& completion : group.completions) {
      const auto num_tokens = static_cast<int64_t>(completion.token_ids.size());
      result.min_length = length.count == 0 ? num_tokens : std::min(result.min_length, num_tokens);
      result.max_length = std::max(result.max_length, num_tokens);
      result.num_stopped += completion.finish_reason == FinishReason::kStop;
      length.add(static_cast<double>(num_tokens));
    }
  }
  result.num_completions = length.count;
  result.mean_length = length.value().value_or(0.0);
}

}  // namespace

double pass_at_k(int64_t n, int64_t c, int64_t k) {
  COHORT_CHECK(0 <= c && c <= n && 1 <= k && k <= n);
  double all_fail = 1.0;
  for (int64_t i = n - c + 1; i <= n; ++i) all_fail *= static_cast<double>(i - k) / static_cast<double>(i);
  return 1.0 - all_fail;
}

Evaluation summarise(const std::vector<RolloutGroup>& groups, const std::vector<RewardMatrix>& rewards,
                     const std::vector<double>& weights) {
  COHORT_CHECK(!groups.empty() && groups.size() == rewards.size());
  Evaluation result;
  result.num_prompts = static_cast<int64_t>(groups.size());
  add_lengths(groups, result);
  for (size_t reward = 0; reward < weights.size(); ++reward) {
    result.rewards.push_back(evaluate_reward(rewards, static_cast<int64_t>(reward)));
  }
  TotalRewards totals;
  for (const RewardMatrix& matrix : rewards) append_total_rewards(matrix, weights, totals);
  Mean total;
  for (size_t i = 0; i < totals.values.size(); ++i) {
    if (totals.valid[i]) total.add(totals.values[i]);
  }
  result.mean_reward = total.value();
  return result;
}

Evaluation evaluate(Sampler& sampler, const std::vector<Prompt>& prompts, int64_t num_generations,
                    const SamplingParams& params, RewardScorer& scorer, RolloutAddress address) {
  std::vector<RolloutGroup> groups;
  std::vector<RewardMatrix> rewards;
  for (const PromptBatch& batch : prompt_batches(prompts, num_generations)) {
    RolloutAddress batch_address = address;
    batch_address.first_prompt += static_cast<uint64_t>(batch.first);
    const auto score = [&](int64_t prompt, int64_t sample, const Completion& completion) {
      scorer.submit(batch.first + prompt, sample, batch.prompts[prompt], completion);
    };
    for (RolloutGroup& group :
         sampler.rollout(batch.prompts, num_generations, params, batch_address, 0, score)) {
      rewards.push_back(scorer.take(static_cast<int64_t>(groups.size())));
      groups.push_back(std::move(group));
    }
  }
  return summarise(groups, rewards, scorer.weights());
}

}  // namespace cohort
