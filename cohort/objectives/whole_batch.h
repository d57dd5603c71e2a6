// What must be known of a whole batch before it is cut into micro-batches. Legend as in loss_input.h.
#pragma once

#include "cohort/objectives/loss_input.h"
#include "cohort/objectives/policy_term.h"

namespace cohort {

/// The counts, masks and weights of a whole batch; constants, but for the gradient of `completion_weights` to
/// `length_preference`. The policy's current log-probabilities matter only under clip_cov_ratio,
/// kl_cov_ratio, second_moment_max and kl_budget_coef: with one of these a batch that is cut needs a forward
/// pass before the first backward. `config` may be as the user gave it; throws as policy_loss does.
WholeBatch whole_batch_of(const LossInput& batch, const LossConfig& config);

/// The tokens that the likelihood term acts on, [M] bool: those of completions whose reward is above
/// `positive_threshold`, or of experts, as `nll_on` says.
at::Tensor nll_tokens(const LossInput& input, const LossConfig& config, const TokenView& view);

}  // namespace cohort
