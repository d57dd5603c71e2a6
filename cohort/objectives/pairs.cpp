#include "cohort/objectives/pairs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cohort/core/error.h"
#include "cohort/objectives/groups.h"
#include "cohort/objectives/preference.h"

namespace cohort {
namespace {

void append_all(const double* rewards, int64_t begin, int64_t end, double margin, PreferencePairs& pairs) {
  for (int64_t winner = begin; winner < end; ++winner) {
    for (int64_t loser = begin; loser < end; ++loser) {
      if (!(rewards[winner] - rewards[loser] > margin)) continue;
      pairs.winners.push_back(winner);
      pairs.losers.push_back(loser);
    }
  }
}

void append_best_and_worst(const double* rewards, int64_t begin, int64_t end, double margin,
                           PreferencePairs& pairs) {
  double best = -std::numeric_limits<double>::infinity(), worst = -best;
  for (int64_t i = begin; i < end; ++i) {
    if (std::isnan(rewards[i])) continue;
    best = std::max(best, rewards[i]);
    worst = std::min(worst, rewards[i]);
  }
  const auto is_pair = [&](int64_t winner, int64_t loser) {
    return rewards[winner] == best && rewards[loser] == worst && best - worst > margin;
  };
  for (int64_t winner = begin; winner < end; ++winner) {
    for (int64_t loser = begin; loser < end; ++loser) {
      if (!is_pair(winner, loser)) continue;
      pairs.winners.push_back(winner);
      pairs.losers.push_back(loser);
    }
  }
}

at::Tensor selected(const at::Tensor& values, const std::vector<int64_t>& indices) {
  return values.index_select(0, at::tensor(indices, at::kLong).to(values.device()));
}

}  // namespace

PreferencePairs preference_pairs(const at::Tensor& rewards, const std::vector<int64_t>& lengths,
                                 const std::vector<int64_t>& group_ends, const LossConfig& config) {
  check_group_ends(group_ends, rewards.size(0));
  const at::Tensor has_tokens = at::tensor(lengths, at::kLong) > 0;
  const at::Tensor values =
      rewards.detach()
          .cpu()
          .to(at::kDouble)
          .masked_fill(has_tokens.logical_not(), std::numeric_limits<double>::quiet_NaN());
  const double* data = values.const_data_ptr<double>();
  PreferencePairs pairs;
  for_each_group(group_ends, [&](int64_t begin, int64_t end) {
    const auto append = config.dpo_pairs == "all" ? append_all : append_best_and_worst;
    append(data, begin, end, config.dpo_margin, pairs);
  });
  return pairs;
}

at::Tensor pair_logprobs(const at::Tensor& policy_logprobs, const at::Tensor& ref_logprobs,
                         const Segments& completions, const LossConfig& config) {
  COHORT_CHECK(config.dpo_reference_free || ref_logprobs.defined());
  const at::Tensor values =
      config.dpo_reference_free ? policy_logprobs : policy_logprobs - ref_logprobs.detach();
  return config.dpo_length_normalized ? completions.mean(values) : completions.sum(values);
}

at::Tensor pair_loss_sum(const at::Tensor& logprobs, const PreferencePairs& pairs, double beta) {
  const at::Tensor lead = selected(logprobs, pairs.winners) - selected(logprobs, pairs.losers);
  return pair_losses(lead, {.beta = beta}).sum();
}

}  // namespace cohort
