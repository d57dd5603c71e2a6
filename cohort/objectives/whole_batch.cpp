#include "cohort/objectives/whole_batch.h"

#include <algorithm>

#include "cohort/objectives/batch_filters.h"
#include "cohort/objectives/pairs.h"

namespace cohort {
namespace {

bool needs_covariance(const LossConfig& config) {
  return config.clip_cov_ratio > 0.0 || config.kl_cov_ratio > 0.0;
}

at::Tensor clipped_tokens(const PolicyTerm& term) {
  if (term.low_clipped.defined()) return term.low_clipped.logical_or(term.high_clipped);
  return at::zeros_like(term.loss, term.loss.options().dtype(at::kBool));
}

at::Tensor joined(const at::Tensor& mask, const at::Tensor& other) {
  return mask.defined() ? mask * other : other;
}

BatchMasks masks_of(const LossInput& batch, const LossConfig& config, const TokenView& view) {
  BatchMasks masks;
  if (view.policy.size(0) == 0) return masks;
  if (config.top_entropy_quantile < 1.0)
    masks.entropy = top_entropy_mask(batch.entropies.detach(), config.top_entropy_quantile);
  if (config.second_moment_max) masks.policy = second_moment_mask(view.log_ratio, *config.second_moment_max);
  if (!needs_covariance(config)) return masks;
  const at::Tensor covariance = token_covariance(view.policy, view.advantages);
  if (config.kl_cov_ratio > 0.0) masks.kl_cov = kl_cov_mask(covariance, config.kl_cov_ratio);
  if (config.clip_cov_ratio > 0.0) {
    const ClipCov options{config.clip_cov_min, config.clip_cov_max, config.clip_cov_ratio, batch.seed};
    masks.policy =
        joined(masks.policy, clip_cov_mask(covariance, clipped_tokens(policy_term(view, config)), options));
  }
  return masks;
}

LossCounts counts_of(const LossInput& batch, const LossConfig& config, const TokenView& view,
                     const BatchMasks& masks) {
  const int64_t num_tokens = view.policy.size(0);
  LossCounts counts;
  counts.num_completions = std::ssize(batch.lengths);
  counts.num_loss_tokens = batch.num_items_in_batch.value_or(num_tokens);
  counts.num_groups = std::ssize(batch.group_ends);
  counts.num_entropy_tokens = masks.entropy.defined() ? masks.entropy.sum().item<int64_t>() : num_tokens;
  counts.num_reply_tokens = batch.num_reply_tokens;
  if (config.nll_coef != 0.0) counts.num_nll_tokens = nll_tokens(batch, config, view).sum().item<int64_t>();
  if (config.dpo_coef != 0.0)
    counts.num_pairs =
        std::ssize(preference_pairs(batch.rewards, batch.lengths, batch.group_ends, config).winners);
  const Surrogate& surrogate = surrogate_of(config);
  if (surrogate.traits().is_of_groups) counts.num_contrasts = surrogate.num_groups(batch, view, config);
  return counts;
}

at::Tensor weights_of(const LossInput& batch, const LossConfig& config, const LossCounts& counts) {
  at::Tensor weights = completion_weights(batch.lengths, batch.group_ends, config, counts);
  if (config.length_preference == 0.0 && !batch.length_preference.defined()) return weights;
  const at::Tensor preference = batch.length_preference.defined()
                                    ? batch.length_preference.cpu().to(at::kDouble)
                                    : at::scalar_tensor(config.length_preference, at::kDouble);
  return weights * length_preference_weights(batch.lengths, batch.group_ends, preference);
}

double budget_weight(const LossConfig& config, const TokenView& view) {
  if (config.kl_budget_coef == 0.0 || view.policy.size(0) == 0) return 0.0;
  const double kl = (view.old - view.policy.detach()).to(at::kDouble).mean().item<double>();
  return std::max(config.kl_budget_coef * (kl - config.kl_budget), 0.0);
}

}  // namespace

bool reads_policy_before_cut(const LossConfig& config) {
  return needs_covariance(config) || config.second_moment_max || config.kl_budget_coef != 0.0;
}

WholeBatch whole_batch_of(const LossInput& given_batch, const LossConfig& given) {
  LossConfig config = given;
  expand_loss_type(config);
  check_loss_config(config);
  LossInput batch = given_batch;
  if (!batch.policy_logprobs.defined() && !reads_policy_before_cut(config))
    batch.policy_logprobs = batch.old_logprobs;
  check_batch_input(batch, config);
  WholeBatch whole;
  {
    const at::NoGradGuard no_grad;
    const TokenView view = token_view(batch, config);
    whole.masks = masks_of(batch, config, view);
    whole.counts = counts_of(batch, config, view, whole.masks);
    whole.kl_budget_weight = budget_weight(config, view);
  }
  whole.completion_weights = weights_of(batch, config, whole.counts).to(batch.policy_logprobs.device());
  return whole;
}

at::Tensor nll_tokens(const LossInput& input, const LossConfig& config, const TokenView& view) {
  if (config.is_nll_by_reward())
    return view.completions.expand(input.rewards.detach() > config.positive_threshold);
  if (view.is_demonstration.defined()) return view.is_demonstration;
  return at::zeros_like(view.policy, view.policy.options().dtype(at::kBool).requires_grad(false));
}

}  // namespace cohort
