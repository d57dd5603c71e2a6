#include "cohort/objectives/loss.h"

#include <algorithm>

#include "cohort/objectives/demonstration.h"
#include "cohort/objectives/filters.h"
#include "cohort/objectives/kl.h"
#include "cohort/objectives/loss_term_metrics.h"
#include "cohort/objectives/pairs.h"
#include "cohort/objectives/policy_term.h"
#include "cohort/objectives/value_loss.h"
#include "cohort/objectives/whole_batch.h"

namespace cohort {
namespace {

/// The input of one call with what was derived from it.
struct LossScope {
  const LossInput& input;
  const LossConfig& config;
  const WholeBatch& whole;
  const TokenView& view;
  LossMetrics& metrics;
};

double at_least_one_of(int64_t count) { return static_cast<double>(std::max<int64_t>(count, 1)); }

/// Multiplies the masks in the order of the reference: off-policy sequences, entropy, ratio band, batch
/// masks.
at::Tensor filtered(const LossScope& s, at::Tensor loss) {
  if (s.config.off_policy_mask_threshold) {
    const at::Tensor& behaviour = s.view.sampler.defined() ? s.view.sampler : s.view.old;
    loss = loss * off_policy_mask(s.view.policy, behaviour, s.view.advantages, s.view.completions,
                                  *s.config.off_policy_mask_threshold);
  }
  if (s.whole.masks.entropy.defined()) loss = loss * s.whole.masks.entropy;
  if (s.config.log_ratio_min || s.config.log_ratio_max)
    loss = loss * log_ratio_band(s.view.log_ratio, s.config.log_ratio_min, s.config.log_ratio_max);
  if (s.whole.masks.policy.defined()) loss = loss * s.whole.masks.policy;
  return loss;
}

/// The policy term as it enters the loss: filtered, corrected for the sampler, and a demonstration's tokens
/// shaped.
at::Tensor policy_part(const LossScope& s, const PolicyTerm& term) {
  at::Tensor loss = filtered(s, term.loss);
  if (s.view.mismatch.defined() && !surrogate_of(s.config).traits().corrects_mismatch)
    loss = loss * s.view.mismatch;
  if (!s.view.is_demonstration.defined()) return loss;
  return at::where(s.view.is_demonstration,
                   shaped_demonstration_loss(s.view.policy, s.view.advantages, s.config.luffy_gamma), loss);
}

/// beta * KL to the reference, [M]; undefined where there is none.
at::Tensor kl_part(const LossScope& s, const PolicyTerm& term) {
  const bool is_per_completion = s.input.betas.defined();
  if (!s.config.is_kl_in_loss() || (s.config.beta == 0.0 && !is_per_completion)) return {};
  const at::Tensor ref = s.input.ref_logprobs.to(s.view.policy.scalar_type());
  const at::Tensor kl = s.config.kl_keys.k3.use_bias_correction
                            ? bias_corrected_k3(s.view.policy, ref, term.ratio)
                            : kl_estimate(s.config.kl_estimator, s.view.policy, ref);
  record_mean("kl", kl, s.metrics);
  if (!is_per_completion) return s.config.beta * kl;
  return s.view.completions.expand(s.input.betas.detach().to(kl.scalar_type())) * kl;
}

/// Penalties on the log-ratio of single tokens, [M]; undefined where there are none.
at::Tensor ratio_penalties(const LossScope& s) {
  at::Tensor penalty;
  if (s.config.log_ratio_penalty > 0.0) penalty = s.config.log_ratio_penalty * s.view.log_ratio.square();
  if (s.whole.masks.kl_cov.defined()) {
    const at::Tensor cost = s.config.kl_cov_coef * s.whole.masks.kl_cov * s.view.log_ratio.abs();
    penalty = penalty.defined() ? penalty + cost : cost;
  }
  return penalty;
}

/// sum of weight * value in float64, which hardly depends on how the batch was cut.
at::Tensor weighted_sum(const LossScope& s, const at::Tensor& per_token) {
  return (per_token * s.view.completions.expand(s.whole.completion_weights)).sum(at::kDouble);
}

at::Tensor entropy_bonus(const LossScope& s) {
  const at::Tensor& mask = s.whole.masks.entropy;
  const at::Tensor entropies = mask.defined() ? s.input.entropies * mask : s.input.entropies;
  const at::Tensor sum = entropies.sum(at::kDouble);
  const auto count = static_cast<double>(mask.defined() ? mask.sum().item<int64_t>() : entropies.numel());
  s.metrics.add_mean("bonus_entropy", sum.item<double>(), count);
  return s.input.entropy_coef.value_or(s.config.entropy_coef) * sum /
         at_least_one_of(s.whole.counts.num_entropy_tokens);
}

at::Tensor value_part(const LossScope& s) {
  const at::Tensor loss =
      clipped_value_loss(s.input.values, s.input.old_values, s.input.returns, s.config.value_clip);
  return s.config.value_coef * loss.sum(at::kDouble) / at_least_one_of(s.whole.counts.num_loss_tokens);
}

at::Tensor nll_part(const LossScope& s) {
  const at::Tensor chosen = s.view.policy.masked_select(nll_tokens(s.input, s.config, s.view));
  return -s.config.nll_coef * chosen.sum(at::kDouble) / at_least_one_of(s.whole.counts.num_nll_tokens);
}

at::Tensor echo_part(const LossScope& s) {
  const at::Tensor sum = -s.input.reply_logprobs.sum(at::kDouble);
  s.metrics.add_mean("reply_cross_entropy", sum.item<double>(),
                     static_cast<double>(s.input.reply_logprobs.numel()));
  return s.config.echo_coef * sum / at_least_one_of(s.whole.counts.num_reply_tokens);
}

at::Tensor pair_part(const LossScope& s) {
  const PreferencePairs pairs =
      preference_pairs(s.input.rewards, s.input.lengths, s.input.group_ends, s.config);
  const at::Tensor logprobs =
      pair_logprobs(s.view.policy, s.input.ref_logprobs, s.view.completions, s.config);
  return s.config.dpo_coef * pair_loss_sum(logprobs, pairs, s.config.dpo_beta).to(at::kDouble) /
         at_least_one_of(s.whole.counts.num_pairs);
}

at::Tensor group_part(const LossScope& s) {
  const at::Tensor sum = surrogate_of(s.config).group_loss_sum(s.input, s.view, s.config);
  return sum.to(at::kDouble) / at_least_one_of(s.whole.counts.num_contrasts);
}

at::Tensor budget_part(const LossScope& s) {
  const at::Tensor kl = (s.view.old - s.view.policy).sum(at::kDouble);
  return s.whole.kl_budget_weight * kl / at_least_one_of(s.whole.counts.num_loss_tokens);
}

/// Adds a term with a normaliser of its own and records it.
void add_part(const char* name, const at::Tensor& part, LossMetrics& metrics, at::Tensor& loss) {
  metrics.add_total(name, part.item<double>());
  loss = loss + part;
}

at::Tensor with_own_normalisers(const LossScope& s, at::Tensor loss) {
  const LossConfig& c = s.config;
  if (s.input.entropy_coef || c.entropy_coef != 0.0)
    add_part("entropy_loss", -entropy_bonus(s), s.metrics, loss);
  if (c.value_coef != 0.0) add_part("value_loss", value_part(s), s.metrics, loss);
  if (c.echo_coef != 0.0) add_part("echo_loss", echo_part(s), s.metrics, loss);
  if (c.nll_coef != 0.0) add_part("nll_loss", nll_part(s), s.metrics, loss);
  if (c.dpo_coef != 0.0) add_part("dpo_loss", pair_part(s), s.metrics, loss);
  if (surrogate_of(c).traits().is_of_groups) add_part("group_loss", group_part(s), s.metrics, loss);
  if (c.kl_budget_coef != 0.0) add_part("kl_budget_loss", budget_part(s), s.metrics, loss);
  return loss;
}

at::Tensor composed(const LossScope& s) {
  const PolicyTerm term = policy_term(s.view, s.config);
  at::Tensor token_loss = policy_part(s, term);
  s.metrics.add_total("policy_loss", weighted_sum(s, token_loss.detach()).item<double>());
  record_ratio(term, s.view, s.metrics);
  if (s.input.entropies.defined()) record_mean("entropy", s.input.entropies, s.metrics);
  for (const at::Tensor& more : {kl_part(s, term), ratio_penalties(s)})
    if (more.defined()) token_loss = token_loss + more;
  return with_own_normalisers(s, weighted_sum(s, token_loss));
}

}  // namespace

LossOutput policy_loss(const LossInput& input, const LossConfig& given) {
  LossConfig config = given;
  expand_loss_type(config);
  check_loss_config(config);
  check_loss_input(input, config);
  const WholeBatch whole = input.whole ? *input.whole : whole_batch_of(input, config);
  const TokenView view = token_view(input, config);
  LossOutput output;
  const at::Tensor loss = composed({input, config, whole, view, output.metrics});
  output.metrics.add_total("loss", loss.item<double>());
  output.loss = loss.to(input.policy_logprobs.scalar_type());
  return output;
}

}  // namespace cohort
