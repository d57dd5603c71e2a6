#include "cohort/objectives/batch_filters.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "libs/common/random.h"

namespace cohort {
namespace {

int64_t share_of(double share, int64_t num_tokens) {
  const auto count = static_cast<int64_t>(share * static_cast<double>(num_tokens));
  return std::min(std::max<int64_t>(count, 1), num_tokens);
}

/// `count` of the candidates, each as likely as any other; the rest is dropped.
void keep_drawn(std::vector<int64_t>& candidates, int64_t count, uint64_t seed) {
  CounterRng rng(seed);
  const int64_t size = std::ssize(candidates);
  count = std::min(count, size);
  for (int64_t i = 0; i < count; ++i)
    std::swap(candidates[i], candidates[i + static_cast<int64_t>(rng.below(size - i))]);
  candidates.resize(count);
}

/// A constant [M] of `value` with `other` at `indices`.
at::Tensor mask_with(const at::Tensor& like, double value, const at::Tensor& indices, double other) {
  return at::full_like(like.detach(), value).index_fill(0, indices, other);
}

}  // namespace

at::Tensor top_entropy_mask(const at::Tensor& entropies, double share) {
  const at::Tensor constant = entropies.detach();
  if (constant.numel() == 0) return constant.clone();
  return (constant >= constant.quantile(1.0 - share)).to(constant.scalar_type());
}

at::Tensor token_covariance(const at::Tensor& policy_logprobs, const at::Tensor& advantages) {
  const at::Tensor logprobs = policy_logprobs.detach();
  return (advantages - advantages.mean()) * (logprobs - logprobs.mean());
}

at::Tensor clip_cov_mask(const at::Tensor& covariance, const at::Tensor& is_clipped, const ClipCov& options) {
  const at::Tensor is_candidate =
      (covariance > options.low).logical_and(covariance < options.high).logical_and(is_clipped.logical_not());
  const at::Tensor found = is_candidate.nonzero().flatten().cpu();
  std::vector<int64_t> candidates(found.const_data_ptr<int64_t>(),
                                  found.const_data_ptr<int64_t>() + found.numel());
  keep_drawn(candidates, share_of(options.share, covariance.numel()), options.seed);
  return mask_with(covariance, 1.0, at::tensor(candidates, at::kLong).to(covariance.device()), 0.0);
}

at::Tensor kl_cov_mask(const at::Tensor& covariance, double share) {
  const at::Tensor largest = std::get<1>(covariance.topk(share_of(share, covariance.numel())));
  return mask_with(covariance, 0.0, largest, 1.0);
}

at::Tensor second_moment_mask(const at::Tensor& log_ratio, double largest_mean) {
  const auto [squares, order] = log_ratio.detach().square().sort();
  const at::Tensor counts = at::arange(1, squares.numel() + 1, squares.options());
  const int64_t num_kept = (squares.cumsum(0) <= largest_mean * counts).sum().item<int64_t>();
  return mask_with(squares, 1.0, order.slice(0, num_kept), 0.0);
}

}  // namespace cohort
