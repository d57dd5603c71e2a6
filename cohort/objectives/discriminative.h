// The discriminative loss of a group (decoupled reward policy optimisation, arXiv:2510.04474). Legend: M
// packed loss tokens of N completions of P groups.
#pragma once

#include <cstdint>
#include <vector>

#include "cohort/objectives/surrogate.h"

namespace cohort {

class Segments;

/// The sum over contrasts, groups that have both right and wrong completions, of
///   tau * log mean over wrong exp(s / tau) - sum over right w s / sum over right w
/// with s = the completion's mean log-probability, w = exp((1 - length / max_completion_length) / lambda); a
/// scalar with gradient through `policy_logprobs` [M]. `rewards` [N] above `positive_threshold` are right;
/// nan is neither. A completion without tokens is neither. The loss is this sum over num_contrasts.
at::Tensor discriminative_loss_sum(const at::Tensor& policy_logprobs, const at::Tensor& rewards,
                                   const Segments& completions, const std::vector<int64_t>& group_ends,
                                   const LossConfig& config);

/// How many groups have both right and wrong completions.
int64_t num_contrasts(const at::Tensor& rewards, const Segments& completions,
                      const std::vector<int64_t>& group_ends, const LossConfig& config);

/// The mean of discriminative_loss_sum over the contrasts; `positive_threshold` and `max_completion_length`
/// are LossConfig's.
struct DrpoDecoupledSurrogate final : Surrogate {
  double tau = 10.0;
  double lambda = 0.1;

  SurrogateTraits traits() const override {
    return {.needs_token_level = true, .is_of_groups = true, .trains_without_advantage = true};
  }
  void describe(FieldVisitor& f) override;
  void check(const LossConfig& config) const override;
  void advise(const ObjectiveSettings& settings, std::vector<std::string>& advice) const override;
  PolicyTerm term(const TokenView& view, const at::Tensor& ratio, const LossConfig& config) const override;
  at::Tensor group_loss_sum(const LossInput& input, const TokenView& view,
                            const LossConfig& config) const override;
  int64_t num_groups(const LossInput& input, const TokenView& view, const LossConfig& config) const override;
};

}  // namespace cohort
