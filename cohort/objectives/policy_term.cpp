#include "cohort/objectives/policy_term.h"

#include "cohort/core/error.h"
#include "cohort/objectives/clip.h"
#include "cohort/objectives/dppo.h"
#include "cohort/objectives/drpo.h"
#include "cohort/objectives/gmpo.h"
#include "cohort/objectives/mismatch.h"
#include "cohort/objectives/ratio_level.h"
#include "cohort/objectives/regression.h"
#include "cohort/objectives/sapo.h"
#include "cohort/objectives/vespo.h"
#include "cohort/objectives/weighted.h"

namespace cohort {
namespace {

at::Tensor expert_tokens(const LossInput& input, const Segments& completions) {
  if (input.is_expert.empty()) return {};
  const at::Tensor is_expert = at::tensor(input.is_expert, at::kByte).to(input.policy_logprobs.device());
  return completions.expand(is_expert).to(at::kBool);
}

/// The anchor's log-probabilities; where the sampler could not give one, and without any, those of old.
at::Tensor anchor_of(const LossInput& input, const TokenView& view, const std::string& name) {
  if (name == "old") return view.old;
  if (name == "ref") return input.ref_logprobs.detach().to(view.policy.scalar_type());
  COHORT_CHECK(name == "sampler", "ratio_anchor is ", name);
  return view.sampler.defined() ? at::where(view.sampler.isnan(), view.old, view.sampler) : view.old;
}

at::Tensor mismatch_of(const TokenView& view, const LossConfig& config) {
  if (config.importance_sampling_mode == "none") return {};
  const at::Tensor weights =
      mismatch_weights(config.importance_sampling_mode, view.old, view.sampler, view.completions,
                       config.importance_sampling_clip_min, config.importance_sampling_clip_max);
  return view.is_expert.defined() ? weights.masked_fill(view.is_expert, 1.0) : weights;
}

bool has_side(const LossConfig& config, const char* side) {
  return config.clip_side == "both" || config.clip_side == side;
}

std::optional<double> bound(bool acts, double value) {
  return acts ? std::optional<double>(value) : std::nullopt;
}

PolicyTerm clipped_term(const TokenView& view, const LossConfig& config, const at::Tensor& ratio) {
  const ClipBounds bounds{.low = bound(has_side(config, "lower"), 1.0 - config.epsilon),
                          .high = bound(has_side(config, "upper"), 1.0 + config.upper_epsilon()),
                          .cap = config.delta};
  const ClippedSurrogate surrogate = clipped_surrogate(ratio, view.advantages, bounds);
  return {surrogate.loss, ratio, surrogate.low_clipped, surrogate.high_clipped};
}

PolicyTerm gmpo_term(const TokenView& view, const LossConfig& config, const at::Tensor& ratio) {
  const ClippedSurrogate surrogate = gmpo_surrogate(view.log_ratio, view.advantages, view.completions,
                                                    bound(has_side(config, "lower"), config.epsilon),
                                                    bound(has_side(config, "upper"), config.upper_epsilon()));
  return {surrogate.loss, ratio, surrogate.low_clipped, surrogate.high_clipped};
}

at::Tensor vespo_term(const TokenView& view, const LossConfig& config) {
  const VespoShape shape{config.vespo_k_pos, config.vespo_lambda_pos, config.vespo_k_neg,
                         config.vespo_lambda_neg};
  return vespo_weights(view.log_ratio, view.advantages, view.mismatch, view.completions, shape) *
         reinforce_loss(view.policy, view.advantages);
}

at::Tensor dppo_term(const TokenView& view, const LossConfig& config, const at::Tensor& ratio) {
  const at::Tensor mask = divergence_mask(config.divergence, view.policy, view.anchor, view.advantages,
                                          config.epsilon, config.upper_epsilon());
  return dppo_loss(view.policy, ratio, view.advantages, mask, config.ratio_truncation);
}

}  // namespace

TokenView token_view(const LossInput& input, const LossConfig& config) {
  const at::Tensor& policy = input.policy_logprobs;
  const auto in_dtype = [&](const at::Tensor& values) {
    return values.defined() ? values.detach().to(policy.scalar_type()) : values;
  };
  TokenView view{.policy = policy,
                 .old = in_dtype(input.old_logprobs.defined() ? input.old_logprobs : policy),
                 .sampler = in_dtype(input.sampler_logprobs),
                 .anchor = {},
                 .log_ratio = {},
                 .advantages = in_dtype(input.advantages),
                 .mismatch = {},
                 .is_expert = {},
                 .completions = Segments(input.lengths, policy.device()),
                 .turns = std::nullopt};
  if (!input.advantages_are_per_token) view.advantages = view.completions.expand(view.advantages);
  if (config.importance_sampling_level == "turn") view.turns.emplace(input.turn_lengths, policy.device());
  view.is_expert = expert_tokens(input, view.completions);
  view.anchor = anchor_of(input, view, config.ratio_anchor);
  if (view.is_expert.defined()) view.anchor = at::where(view.is_expert, policy.detach(), view.anchor);
  view.log_ratio = policy - view.anchor;
  view.mismatch = mismatch_of(view, config);
  return view;
}

PolicyTerm policy_term(const TokenView& view, const LossConfig& config) {
  const std::string& level = config.importance_sampling_level;
  if (level == "none") {
    const at::Tensor loss = reinforce_loss(view.policy, view.advantages);
    return {loss, at::ones_like(view.advantages), {}, {}};
  }
  const at::Tensor ratio =
      ratio_at_level(level, view.log_ratio, view.completions, view.turns ? &*view.turns : nullptr);
  const std::string& surrogate = config.surrogate;
  if (surrogate == "ppo") return clipped_term(view, config, ratio);
  if (surrogate == "gmpo") return gmpo_term(view, config, ratio);
  const auto term = [&](const at::Tensor& loss) { return PolicyTerm{loss, ratio, {}, {}}; };
  if (surrogate == "cispo")
    return term(cispo_loss(view.policy, ratio, view.advantages, config.cispo_min, config.upper_epsilon()));
  if (surrogate == "sapo")
    return term(sapo_loss(ratio, view.advantages, config.sapo_temperature_pos, config.sapo_temperature_neg));
  if (surrogate == "vespo") return term(vespo_term(view, config));
  if (surrogate == "dppo") return term(dppo_term(view, config, ratio));
  if (surrogate == "drpo") return term(drpo_loss(ratio, view.advantages, view.anchor, config.drpo_delta));
  if (surrogate == "regression")
    return term(regression_loss(view.log_ratio, view.advantages, view.completions, config.kimi_tau));
  COHORT_CHECK(surrogate == "drpo_decoupled", "surrogate is ", surrogate);
  return term(0.0 * view.policy);  // a loss that has a backward pass even where no group has both classes
}

}  // namespace cohort
