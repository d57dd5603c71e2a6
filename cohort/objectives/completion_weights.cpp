#include "cohort/objectives/completion_weights.h"

#include <algorithm>

#include "cohort/core/error.h"
#include "cohort/objectives/groups.h"
#include "cohort/objectives/segments.h"

namespace cohort {
namespace {

constexpr double kLengthScale = 1.0 / 9.0;
constexpr double kSmallestLengthFactor = 1e-3;
constexpr double kLengthStdEpsilon = 1e-4;

double at_least_one(int64_t count) { return static_cast<double>(std::max<int64_t>(count, 1)); }

/// 1 / (tokens of the completion's group * groups), [N].
std::vector<double> group_token_means(const std::vector<int64_t>& lengths,
                                      const std::vector<int64_t>& group_ends, int64_t num_groups) {
  std::vector<double> weights(lengths.size());
  for_each_group(group_ends, [&](int64_t begin, int64_t end) {
    int64_t tokens = 0;
    for (int64_t i = begin; i < end; ++i) tokens += lengths[i];
    std::fill(weights.begin() + begin, weights.begin() + end,
              1.0 / (at_least_one(tokens) * at_least_one(num_groups)));
  });
  return weights;
}

double token_mean_weight(const std::vector<int64_t>& lengths, const LossConfig& config,
                         const LossCounts& counts) {
  if (config.token_mean_scope == "batch") return 1.0 / at_least_one(counts.num_loss_tokens);
  return 1.0 / (at_least_one(total_length(lengths)) * at_least_one(counts.num_micro_batches));
}

double sum_divisor(const LossConfig& config) {
  if (config.aggregation == "seq_mean_token_sum") return 1.0;
  COHORT_CHECK(config.aggregation == "seq_mean_token_sum_norm", "aggregation is ", config.aggregation);
  if (config.max_completion_length <= 0)
    throw ConfigError("max_completion_length is not set: aggregation seq_mean_token_sum_norm divides by it");
  return static_cast<double>(config.max_completion_length);
}

/// (length - mean) / (std + epsilon) of a group, 0 where all lengths are equal.
at::Tensor standardised(const at::Tensor& lengths) {
  if (lengths.min().item<double>() == lengths.max().item<double>()) return at::zeros_like(lengths);
  return (lengths - lengths.mean()) / (lengths.std(true) + kLengthStdEpsilon);
}

}  // namespace

at::Tensor completion_weights(const std::vector<int64_t>& lengths, const std::vector<int64_t>& group_ends,
                              const LossConfig& config, const LossCounts& counts) {
  const int64_t size = std::ssize(lengths);
  if (config.aggregation == "token_mean") {
    if (config.token_mean_scope != "group")
      return at::full({size}, token_mean_weight(lengths, config, counts), at::kDouble);
    check_group_ends(group_ends, size);
    return at::tensor(group_token_means(lengths, group_ends, counts.num_groups), at::kDouble);
  }
  const double per_completion = 1.0 / at_least_one(counts.num_completions);
  if (config.aggregation != "seq_mean_token_mean")
    return at::full({size}, per_completion / sum_divisor(config), at::kDouble);
  return per_completion / at::tensor(lengths, at::kLong).to(at::kDouble).clamp_min(1.0);
}

at::Tensor length_preference_weights(const std::vector<int64_t>& lengths,
                                     const std::vector<int64_t>& group_ends, const at::Tensor& preference) {
  check_group_ends(group_ends, std::ssize(lengths));
  const at::Tensor values = at::tensor(lengths, at::kLong).to(at::kDouble);
  std::vector<at::Tensor> groups;
  for_each_group(group_ends, [&](int64_t begin, int64_t end) {
    if (begin == end) return;
    const at::Tensor factors =
        (standardised(values.slice(0, begin, end)) * kLengthScale + 1.0).clamp_min(kSmallestLengthFactor);
    groups.push_back(factors.pow(preference).softmax(0) * static_cast<double>(end - begin));
  });
  return groups.empty() ? at::zeros({0}, at::kDouble) : at::cat(groups);
}

}  // namespace cohort
