#include "cohort/objectives/advantage_algebra.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "cohort/core/error.h"
#include "cohort/objectives/advantage_batch.h"
#include "cohort/objectives/baseline.h"
#include "cohort/objectives/choices.h"
#include "cohort/objectives/constant_groups.h"
#include "cohort/objectives/credit_rule.h"
#include "cohort/objectives/entropy_credit.h"
#include "cohort/objectives/group_filter.h"
#include "cohort/objectives/sample_statistics.h"
#include "cohort/objectives/scale.h"
#include "cohort/objectives/step_credit.h"
#include "cohort/objectives/token_credit.h"
#include "cohort/tensor/check.h"

namespace cohort {
namespace {

constexpr double kLeftOut = std::numeric_limits<double>::quiet_NaN();

/// What the choices work on: numbers of completions or of tokens, nan where a completion takes no part.
struct Credit {
  std::vector<double> values;
  bool is_per_token = false;
  std::vector<double> returns{};  ///< [M], with a critic
};

/// Takes the whole KL of each completion off its score.
void pay_for_kl(AdvantageBatch& batch, const AdvantageConfig& config) {
  if (!config.puts_kl_in_reward()) return;
  for (int64_t i = 0; i < batch.num_completions; ++i) {
    for (const double penalty : batch.own(batch.kl_penalties, i)) batch.totals[batch.owner_of(i)] -= penalty;
  }
}

void divide_by_lengths(AdvantageBatch& batch) {
  for (int64_t i = 0; i < batch.num_completions; ++i) {
    const double length = static_cast<double>(std::max<int64_t>(batch.lengths[i], 1));
    batch.totals[i] /= length;
    for (std::vector<double>& channel : batch.channels) channel[i] /= length;
  }
}

/// Completions that are not kept leave the statistics; the pivot stays in them, since its score is the
/// median.
void filter_completions(AdvantageBatch& batch, const AdvantageConfig& config) {
  const auto leave_out = [&] {
    for (int64_t i = 0; i < batch.num_completions; ++i) {
      if (batch.is_kept[i]) continue;
      batch.totals[i] = kLeftOut;
      for (std::vector<double>& channel : batch.channels) channel[i] = kLeftOut;
    }
  };
  leave_out();
  if (config.gfpo_k > 0) {
    const auto best =
        best_of_groups(batch.totals, batch.ends, batch.lengths, batch.group_k, config.gfpo_metric);
    for (int64_t i = 0; i < batch.num_completions; ++i) {
      // One without a reward has no place in the order, and nothing to be taken out of.
      if (!best[i] && !std::isnan(batch.totals[i])) batch.is_kept[i] = 0;
    }
    leave_out();
  }
  if (config.drop_pivot) {
    const auto others = without_pivots(batch.totals, batch.ends);
    for (int64_t i = 0; i < batch.num_completions; ++i) batch.is_kept[i] = batch.is_kept[i] && others[i];
  }
  batch.share(batch.is_kept);
}

ScoredGroups groups_of(const AdvantageBatch& batch, const std::vector<double>& scores,
                       const AdvantageConfig& config) {
  return {.scores = scores,
          .ends = batch.ends,
          .lengths = batch.lengths,
          .greedy_scores = batch.greedy_scores,
          .mean_logprobs = batch.mean_logprobs,
          .forks = batch.forks,
          .keys = config.baseline_keys};
}

/// [N] baseline and scale, of the sum or of each reward.
std::vector<double> completion_scores(const AdvantageBatch& batch, const AdvantageConfig& config) {
  if (!config.normalizes_each_reward()) {
    return normalised_scores(groups_of(batch, batch.totals, config), config);
  }
  std::vector<double> sums(batch.num_completions, kLeftOut);
  for (size_t c = 0; c < batch.channels.size(); ++c) {
    if (batch.weights[c] == 0.0) continue;
    const std::vector<double> own = normalised_scores(groups_of(batch, batch.channels[c], config), config);
    for (int64_t i = 0; i < batch.num_completions; ++i) {
      if (std::isnan(own[i])) continue;
      sums[i] = (std::isnan(sums[i]) ? 0.0 : sums[i]) + batch.weights[c] * own[i];
    }
  }
  return sums;
}

std::vector<double> token_penalties(AdvantageBatch& batch, int64_t completion) {
  if (batch.kl_penalties.empty()) return {};
  const auto own = batch.own(batch.kl_penalties, completion);
  return {own.begin(), own.end()};
}

/// [N] completion_scores, whitened over the batch where the settings say so; an episode counts once.
std::vector<double> whitened_scores(const AdvantageBatch& batch, const AdvantageConfig& config) {
  std::vector<double> scores = completion_scores(batch, config);
  if (config.batch_whiten) scores = whitened(scores, {}, config.scale_ddof, config.scale_epsilon);
  batch.share(scores);
  return scores;
}

Credit sequence_credit(AdvantageBatch& batch, const AdvantageConfig& config) {
  return {whitened_scores(batch, config), false};
}

// Entropies tell tokens apart: each completion of an episode takes part with its own.

Credit edge_credit(AdvantageBatch& batch, const AdvantageConfig& config) {
  const std::vector<double> totals = batch.shared_totals();
  const TokenGroups groups{totals, batch.ends, batch.lengths, batch.entropies};
  return {edge_advantages(whitened_scores(batch, config), groups), false};
}

Credit return_credit(AdvantageBatch& batch, const AdvantageConfig& config) {
  const std::vector<double> scores = whitened_scores(batch, config);
  Credit credit{.values = std::vector<double>(batch.num_tokens(), kLeftOut), .is_per_token = true};
  for (int64_t i = 0; i < batch.num_completions; ++i) {
    if (std::isnan(scores[i])) continue;
    const auto penalties = token_penalties(batch, i);
    const auto own = discounted_returns(scores[i], penalties, batch.lengths[i], config.gamma);
    std::ranges::copy(own, batch.own(credit.values, i).begin());
  }
  return credit;
}

/// The returns are advantages plus values, before any whitening; those of a completion without a reward are
/// its values, from which a critic learns nothing.
Credit critic_credit(AdvantageBatch& batch, const AdvantageConfig& config) {
  const std::vector<double> scores = whitened_scores(batch, config);
  const CriticKeys& keys = config.baseline_keys.critic;
  Credit credit{std::vector<double>(batch.num_tokens(), kLeftOut), true, batch.values};
  for (int64_t i = 0; i < batch.num_completions; ++i) {
    if (std::isnan(scores[i])) continue;
    const int64_t length = batch.lengths[i];
    const auto penalties = token_penalties(batch, i);
    const auto rewards = discounted_returns(scores[i], penalties, length, 0.0);
    const auto values = batch.own(batch.values, i);
    const double lambda = keys.length_adaptive_alpha > 0.0
                              ? length_adaptive_lambda(keys.length_adaptive_alpha, length)
                              : config.gae_lambda;
    const auto own = generalised_advantages(rewards, values, config.gamma, lambda);
    const auto learnt =
        generalised_advantages(rewards, values, config.gamma, keys.value_lambda.value_or(lambda));
    std::ranges::copy(own, batch.own(credit.values, i).begin());
    std::ranges::transform(learnt, values, batch.own(credit.returns, i).begin(), std::plus{});
  }
  return credit;
}

EntropyShaping shaping_of(const AdvantageConfig& config) {
  EntropyShaping shaping = config.entropy_shaping;
  shaping.ddof = config.scale_ddof;
  shaping.epsilon = config.scale_epsilon;
  return shaping;
}

Credit gtpo_credit(AdvantageBatch& batch, const AdvantageConfig& config) {
  const std::vector<double> totals = batch.shared_totals();
  const TokenGroups groups{totals, batch.ends, batch.lengths, batch.entropies};
  return {gtpo_advantages(groups, shaping_of(config)), true};
}

Credit grpo_s_credit(AdvantageBatch& batch, const AdvantageConfig& config) {
  const std::vector<double> totals = batch.shared_totals();
  const TokenGroups groups{totals, batch.ends, batch.lengths, batch.entropies};
  return {grpo_s_advantages(groups, shaping_of(config)), false};
}

Credit assign_credit(AdvantageBatch& batch, const AdvantageConfig& config) {
  struct Line {
    const char* name;
    Credit (*assign)(AdvantageBatch& batch, const AdvantageConfig& config);
  };
  constexpr auto kLines = std::to_array<Line>({
#define CREDIT(id, words, function, ...) {#id, function},
#include "cohort/objectives/credits.def"
#undef CREDIT
  });
  return find_choice(kLines, config.credit, "credit").assign(batch, config);
}

/// critic_share * A + (1 - critic_share) * GRPO's advantage, for training with a critic that is still small.
/// Both pay for the KL.
void mix_in_group_advantages(std::vector<double>& values, AdvantageBatch& batch,
                             const AdvantageConfig& config) {
  const double share = config.baseline_keys.critic.share;
  pay_for_kl(batch, config);
  const ScoredGroups groups{.scores = batch.totals, .ends = batch.ends};
  const ScaleOptions scale{.kind = "group", .ddof = config.scale_ddof, .epsilon = config.scale_epsilon};
  std::vector<double> relative = scaled_scores(centred_scores(groups, "group_mean"), groups, scale);
  batch.share(relative);
  for (int64_t i = 0; i < batch.num_completions; ++i) {
    for (double& value : batch.own(values, i)) {
      value = share * value + (1.0 - share) * relative[i];
    }
  }
}

void finish_credit(Credit& credit, AdvantageBatch& batch, const std::vector<uint8_t>& same,
                   const AdvantageConfig& config) {
  if (config.token_whiten) {
    const std::vector<int64_t> once;
    credit.values = whitened(credit.values, credit.is_per_token ? once : batch.lengths, config.scale_ddof,
                             config.scale_epsilon);
  }
  const bool tokens_pay = config.puts_kl_in_reward() && find_credit_rule(config.credit).tokens_pay_kl;
  if (find_baseline(config.baseline).is_of_group && !tokens_pay) {
    clear_groups(credit.values, batch, same, credit.is_per_token);
  }
  if (config.baseline_keys.critic.share < 1.0) mix_in_group_advantages(credit.values, batch, config);
  const double factor = config.rescale_informative ? informative_factor(batch, same) : 1.0;
  for (double& value : credit.values) value = std::isnan(value) ? 0.0 : value * factor;
}

at::Tensor like_rewards(const std::vector<double>& values, const at::Tensor& rewards) {
  return at::tensor(values, at::kDouble).to(rewards.device(), rewards.scalar_type());
}

void add_figures(const std::vector<double>& scores, AdvantageOutput& output) {
  const Spread spread = spread_of(scores, 1);
  output.reward_mean = spread.mean;
  output.reward_std = spread.std;
  if (output.has_no_difference.empty()) return;
  const auto num_constant = std::ranges::count(output.has_no_difference, 1);
  output.frac_reward_zero_std =
      static_cast<double>(num_constant) / static_cast<double>(output.has_no_difference.size());
}

}  // namespace

AdvantageOutput advantages_of(const AdvantageInput& input, const AdvantageConfig& config) {
  check_advantage_config(config);
  AdvantageBatch batch = read_batch(input, config);
  std::vector<double> raw_scores = batch.totals;
  AdvantageOutput output;
  Credit credit;
  if (config.is_stepwise()) {
    StepCredit steps = credit_of_steps(input, batch, config);
    raw_scores = std::move(steps.scores);
    output.has_no_difference = std::move(steps.has_no_difference);
    credit = {.values = std::move(steps.values), .is_per_token = true};
  } else {
    if (!find_credit_rule(config.credit).tokens_pay_kl) pay_for_kl(batch, config);
    filter_completions(batch, config);
    output.has_no_difference = groups_without_difference(batch, config);
    if (config.length_corrected_rewards) divide_by_lengths(batch);
    credit = assign_credit(batch, config);
  }
  finish_credit(credit, batch, output.has_no_difference, config);
  output.values = like_rewards(credit.values, input.rewards);
  output.is_per_token = credit.is_per_token;
  const at::TensorOptions bytes = at::TensorOptions().dtype(at::kByte);
  output.is_kept =
      at::tensor(at::ArrayRef<uint8_t>(batch.is_kept), bytes).to(input.rewards.device(), at::kBool);
  if (!credit.returns.empty()) output.returns = like_rewards(credit.returns, input.rewards);
  add_figures(raw_scores, output);
  return output;
}

}  // namespace cohort
