// Metrics of the policy's term. Legend: M packed loss tokens of N completions.
#pragma once

#include <ATen/ATen.h>

#include "cohort/objectives/loss_metrics.h"
#include "cohort/objectives/policy_term.h"

namespace cohort {

/// The mean of `per_token` [M] over tokens, as `name`.
void record_mean(const char* name, const at::Tensor& per_token, LossMetrics& metrics);

/// `ratio/mean`, `ratio/max`, `mismatch/mean` where there is a correction, and for a clipped surrogate the
/// shares `clip_ratio/{low,high,region}_mean` of all tokens, `low_min` and `high_max` over completions with
/// tokens (TRL 1.16's names; there a sequence-level ratio counts completions in place of tokens).
void record_ratio(const PolicyTerm& term, const TokenView& view, LossMetrics& metrics);

}  // namespace cohort
