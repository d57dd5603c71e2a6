#include "cohort/objectives/policy_term.h"

#include "cohort/core/error.h"
#include "cohort/objectives/mismatch.h"
#include "cohort/objectives/ratio_level.h"
#include "cohort/objectives/weighted.h"

namespace cohort {
namespace {

at::Tensor demonstration_tokens(const LossInput& input, const Segments& completions) {
  if (input.is_demonstration.empty()) return {};
  const at::Tensor is_demonstration =
      at::tensor(input.is_demonstration, at::kByte).to(input.policy_logprobs.device());
  return completions.expand(is_demonstration).to(at::kBool);
}

/// The anchor's log-probabilities; where the sampler could not give one, and without any, those of old.
at::Tensor anchor_of(const LossInput& input, const TokenView& view, const LossConfig& config) {
  if (config.is_anchored_to_ref()) return input.ref_logprobs.detach().to(view.policy.scalar_type());
  if (!config.is_anchored_to_sampler()) {
    COHORT_CHECK(config.ratio_anchor == "old", "ratio_anchor is ", config.ratio_anchor);
    return view.old;
  }
  return view.sampler.defined() ? at::where(view.sampler.isnan(), view.old, view.sampler) : view.old;
}

at::Tensor mismatch_of(const TokenView& view, const LossConfig& config) {
  if (!config.corrects_mismatch()) return {};
  const at::Tensor weights =
      mismatch_weights(config.importance_sampling_mode, view.old, view.sampler, view.completions,
                       config.importance_sampling_clip_min, config.importance_sampling_clip_max);
  return view.is_demonstration.defined() ? weights.masked_fill(view.is_demonstration, 1.0) : weights;
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
                 .is_demonstration = {},
                 .completions = Segments(input.lengths, policy.device()),
                 .turns = std::nullopt};
  if (!input.advantages_are_per_token) view.advantages = view.completions.expand(view.advantages);
  if (find_ratio_level(config.importance_sampling_level).is_of_turns)
    view.turns.emplace(input.turn_lengths, policy.device());
  view.is_demonstration = demonstration_tokens(input, view.completions);
  view.anchor = anchor_of(input, view, config);
  if (view.is_demonstration.defined())
    view.anchor = at::where(view.is_demonstration, policy.detach(), view.anchor);
  view.log_ratio = policy - view.anchor;
  view.mismatch = mismatch_of(view, config);
  return view;
}

PolicyTerm policy_term(const TokenView& view, const LossConfig& config) {
  const RatioLevel& level = find_ratio_level(config.importance_sampling_level);
  if (level.ratio == nullptr) {
    const at::Tensor loss = reinforce_loss(view.policy, view.advantages);
    return {loss, at::ones_like(view.advantages), {}, {}};
  }
  const at::Tensor ratio =
      level.ratio({view.log_ratio, view.completions, view.turns ? &*view.turns : nullptr});
  return surrogate_of(config).term(view, ratio, config);
}

}  // namespace cohort
