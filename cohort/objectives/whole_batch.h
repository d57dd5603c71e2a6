// What must be known of a whole batch before it is cut into micro-batches. Legend as in loss_input.h.
#pragma once

#include "cohort/objectives/loss_input.h"
#include "cohort/objectives/policy_term.h"

namespace cohort {

/// Whether what is known of a batch depends on the policy's current log-probabilities (Clip-Cov, KL-Cov,
/// M2PO, a KL budget): a batch that is cut then needs a forward pass before the first backward.
bool reads_policy_before_cut(const LossConfig& config);

/// The counts, masks and weights of a whole batch; constants, but for the gradient of `completion_weights` to
/// `length_preference`. `policy_logprobs` may be absent where old_logprobs are given and
/// reads_policy_before_cut is false; values, and entropies for their bonus alone, are not read. `config` may
/// be as the user gave it; throws as policy_loss does.
WholeBatch whole_batch_of(const LossInput& batch, const LossConfig& config);

/// The tokens that the likelihood term acts on, [M] bool: those of completions whose reward is above
/// `positive_threshold`, or of demonstrations, as `nll_on` says.
at::Tensor nll_tokens(const LossInput& input, const LossConfig& config, const TokenView& view);

}  // namespace cohort
