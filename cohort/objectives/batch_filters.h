// Masks that rank a token among all loss tokens of the batch, so that they must see the whole batch. M = loss
// tokens of the batch, packed. All masks are constants in the inputs' dtype: 1 keeps or chooses, 0 does not.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

namespace cohort {

/// 1 where the entropy is at least the (1 - share) quantile (linear between ranks) of all; entropies [M]
/// (arXiv:2506.01939; TRL 1.16's top_entropy_quantile is `share`).
at::Tensor top_entropy_mask(const at::Tensor& entropies, double share);

/// (A - mean A) * (logp - mean logp) per token, both [M] (arXiv:2505.22617).
at::Tensor token_covariance(const at::Tensor& policy_logprobs, const at::Tensor& advantages);

/// Clip-Cov's bounds, share of the batch's tokens and seed.
struct ClipCov {
  double low = 1.0;
  double high = 5.0;
  double share = 2e-4;
  uint64_t seed = 0;
};

/// 0 for max(floor(share * M), 1) tokens (or all there are) drawn from those with low < covariance < high
/// that `is_clipped` [M] bool does not name; 1 elsewhere (arXiv:2505.22617 and its code).
at::Tensor clip_cov_mask(const at::Tensor& covariance, const at::Tensor& is_clipped, const ClipCov& options);

/// 1 for the max(floor(share * M), 1) tokens of largest covariance (arXiv:2505.22617 and its code).
at::Tensor kl_cov_mask(const at::Tensor& covariance, double share);

/// 0 for the tokens of largest log_ratio^2, as many as it takes until the mean over the others is at most
/// `largest_mean`; 1 elsewhere (M2PO, arXiv:2510.01161).
at::Tensor second_moment_mask(const at::Tensor& log_ratio, double largest_mean);

}  // namespace cohort
