#include "cohort/objectives/vespo.h"

#include <algorithm>
#include <cmath>

#include "cohort/core/error.h"
#include "cohort/objectives/mismatch.h"
#include "cohort/objectives/policy_term.h"
#include "cohort/objectives/ratio.h"
#include "cohort/objectives/weighted.h"

namespace cohort {

at::Tensor vespo_weights(const at::Tensor& log_ratio, const at::Tensor& advantages,
                         const at::Tensor& mismatch_weights, const Segments& completions,
                         const VespoShape& shape) {
  const double lowest = std::log(1e-8);
  at::Tensor log_weight = log_ratio.detach().clamp(-kMaxLogRatio, kMaxLogRatio);
  if (mismatch_weights.defined())
    log_weight = log_weight + mismatch_weights.detach().log().clamp(lowest, kMaxLogRatio);
  const at::Tensor log_w = completions.expand(completions.sum(log_weight)).clamp(lowest, kMaxLogRatio);
  const at::Tensor is_positive = advantages >= 0;
  const at::Tensor k = at::full_like(log_w, shape.k_neg).masked_fill(is_positive, shape.k_pos);
  const at::Tensor lambda = at::full_like(log_w, std::max(shape.lambda_neg, 1e-4))
                                .masked_fill(is_positive, std::max(shape.lambda_pos, 1e-4));
  return (lambda + k * log_w - lambda * log_w.exp()).exp();
}

void VespoSurrogate::describe(FieldVisitor& f) {
  f("vespo_k_pos", shape.k_pos, "VESPO's exponent where the advantage is at least 0.", at_least(0.0));
  f("vespo_lambda_pos", shape.lambda_pos, "VESPO's decay where the advantage is at least 0.", at_least(0.0));
  f("vespo_k_neg", shape.k_neg, "VESPO's exponent elsewhere.", at_least(0.0));
  f("vespo_lambda_neg", shape.lambda_neg, "VESPO's decay elsewhere.", at_least(0.0));
}

void VespoSurrogate::check(const LossConfig& config) const {
  const std::string& level = config.importance_sampling_level;
  if (level != "token" && level != "sequence")
    throw ConfigError("surrogate vespo has a ratio of its own: set importance_sampling_level = \"token\"");
  if (find_mismatch_mode(config.importance_sampling_mode).is_of_sequence)
    throw ConfigError(
        "surrogate vespo needs the weights of tokens: set importance_sampling_mode to token_truncate or "
        "token_mask");
}

PolicyTerm VespoSurrogate::term(const TokenView& view, const at::Tensor& ratio, const LossConfig&) const {
  const at::Tensor weights =
      vespo_weights(view.log_ratio, view.advantages, view.mismatch, view.completions, shape);
  return {weights * reinforce_loss(view.policy, view.advantages), ratio, {}, {}};
}

}  // namespace cohort
