#include "cohort/objectives/discriminative.h"

#include <cmath>

#include "cohort/core/error.h"
#include "cohort/objectives/groups.h"
#include "cohort/objectives/policy_term.h"
#include "cohort/objectives/presets.h"

namespace cohort {
namespace {

/// The right and the wrong completions of a group.
struct Contrast {
  at::Tensor right, wrong;  ///< int64 indices
};

/// The groups that have both.
std::vector<Contrast> contrasts_of(const at::Tensor& rewards, const Segments& completions,
                                   const std::vector<int64_t>& group_ends, const LossConfig& config) {
  check_group_ends(group_ends, completions.num_segments());
  const at::Tensor has_tokens = completions.lengths(at::kLong) > 0;
  const at::Tensor is_right = (rewards > config.positive_threshold).logical_and(has_tokens);
  const at::Tensor is_wrong = (rewards <= config.positive_threshold).logical_and(has_tokens);
  std::vector<Contrast> contrasts;
  for_each_group(group_ends, [&](int64_t begin, int64_t end) {
    const at::Tensor right = is_right.slice(0, begin, end).nonzero().flatten() + begin;
    const at::Tensor wrong = is_wrong.slice(0, begin, end).nonzero().flatten() + begin;
    if (right.numel() > 0 && wrong.numel() > 0) contrasts.push_back({right, wrong});
  });
  return contrasts;
}

at::Tensor right_score(const at::Tensor& scores, const at::Tensor& lengths, const LossConfig& config) {
  const double longest = static_cast<double>(config.max_completion_length);
  // Up to a factor that cancels: softmax keeps the exponential finite.
  const at::Tensor weights = ((1.0 - lengths / longest) / config.drpo_decoupled.lambda).softmax(0);
  return (weights * scores).sum();
}

at::Tensor wrong_score(const at::Tensor& scores, double tau) {
  return tau * ((scores / tau).logsumexp(0) - std::log(static_cast<double>(scores.size(0))));
}

}  // namespace

at::Tensor discriminative_loss_sum(const at::Tensor& policy_logprobs, const at::Tensor& rewards,
                                   const Segments& completions, const std::vector<int64_t>& group_ends,
                                   const LossConfig& config) {
  const at::Tensor scores = completions.mean(policy_logprobs);
  const at::Tensor lengths = completions.lengths(scores.scalar_type());
  at::Tensor loss = at::zeros({}, scores.options());
  for (const Contrast& group : contrasts_of(rewards, completions, group_ends, config)) {
    const at::Tensor right =
        right_score(scores.index_select(0, group.right), lengths.index_select(0, group.right), config);
    loss = loss + wrong_score(scores.index_select(0, group.wrong), config.drpo_decoupled.tau) - right;
  }
  return loss;
}

int64_t num_contrasts(const at::Tensor& rewards, const Segments& completions,
                      const std::vector<int64_t>& group_ends, const LossConfig& config) {
  return std::ssize(contrasts_of(rewards, completions, group_ends, config));
}

void DrpoDecoupledSurrogate::describe(FieldVisitor& f) {
  f("drpo_decoupled_tau", tau, "drpo_decoupled: temperature over the wrong completions.", above(0.0));
  f("drpo_decoupled_lambda", lambda,
    "drpo_decoupled: right completions weigh exp((1 - length / max_completion_length) / this); inf: alike.",
    above(0.0));
}

void DrpoDecoupledSurrogate::check(const LossConfig& config) const {
  if (config.max_completion_length == 0)
    throw ConfigError("max_completion_length is not set: drpo_decoupled needs it");
}

void DrpoDecoupledSurrogate::advise(const ObjectiveSettings& settings, std::vector<std::string>&) const {
  if (!settings.loss.corrects_mismatch()) return;
  throw ConfigError(
      "surrogate drpo_decoupled is made of the policy's own log-probabilities: set importance_sampling_mode "
      "= \"none\"");
}

PolicyTerm DrpoDecoupledSurrogate::term(const TokenView& view, const at::Tensor& ratio,
                                        const LossConfig&) const {
  return {0.0 * view.policy, ratio, {}, {}};  // has a backward pass even where no group has both classes
}

at::Tensor DrpoDecoupledSurrogate::group_loss_sum(const LossInput& input, const TokenView& view,
                                                  const LossConfig& config) const {
  return discriminative_loss_sum(view.policy, input.rewards, view.completions, input.group_ends, config);
}

int64_t DrpoDecoupledSurrogate::num_groups(const LossInput& input, const TokenView& view,
                                           const LossConfig& config) const {
  return num_contrasts(input.rewards, view.completions, input.group_ends, config);
}

}  // namespace cohort
