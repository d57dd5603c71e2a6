#include "cohort/objectives/completion_weights.h"

#include <algorithm>
#include <array>

#include "cohort/core/error.h"
#include "cohort/objectives/choices.h"
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

at::Tensor alike(const TokenCounts& counts, double weight) {
  return at::full({std::ssize(counts.lengths)}, weight, at::kDouble);
}

at::Tensor token_means(const TokenCounts& counts, const LossConfig& config) {
  const TokenMeanKeys& keys = config.aggregation_keys.token_mean;
  if (keys.is_of_micro_batches()) {
    const double tokens = at_least_one(total_length(counts.lengths));
    return alike(counts, 1.0 / (tokens * at_least_one(counts.whole.num_micro_batches)));
  }
  if (!keys.is_of_groups()) return alike(counts, 1.0 / at_least_one(counts.whole.num_loss_tokens));
  check_group_ends(counts.group_ends, std::ssize(counts.lengths));
  return at::tensor(group_token_means(counts.lengths, counts.group_ends, counts.whole.num_groups),
                    at::kDouble);
}

double sequence_weight(const TokenCounts& counts) { return 1.0 / at_least_one(counts.whole.num_completions); }

at::Tensor sequence_means(const TokenCounts& counts, const LossConfig&) {
  return sequence_weight(counts) / at::tensor(counts.lengths, at::kLong).to(at::kDouble).clamp_min(1.0);
}

at::Tensor sequence_sums(const TokenCounts& counts, const LossConfig&) {
  return alike(counts, sequence_weight(counts));
}

at::Tensor normalised_sums(const TokenCounts& counts, const LossConfig& config) {
  if (config.max_completion_length <= 0)
    throw ConfigError(
        str("max_completion_length is not set: aggregation ", config.aggregation, " divides by it"));
  return alike(counts, sequence_weight(counts) / static_cast<double>(config.max_completion_length));
}

constexpr auto kAggregations = std::to_array<Aggregation>({
#define AGGREGATION(id, Keys, words, function, ...) \
  {.name = #id, .text = words, .weights = function __VA_OPT__(, ) __VA_ARGS__},
#include "cohort/objectives/aggregations.def"
#undef AGGREGATION
});

/// (length - mean) / (std + epsilon) of a group, 0 where all lengths are equal.
at::Tensor standardised(const at::Tensor& lengths) {
  if (lengths.min().item<double>() == lengths.max().item<double>()) return at::zeros_like(lengths);
  return (lengths - lengths.mean()) / (lengths.std(true) + kLengthStdEpsilon);
}

}  // namespace

void TokenMeanKeys::describe(FieldVisitor& f) {
  f("token_mean_scope", scope,
    "What token_mean counts tokens over: batch; group, and the mean over groups; micro_batch, and the mean "
    "over micro-batches, which depends on how the batch is cut.",
    one_of({"batch", "group", "micro_batch"}));
}

void AggregationKeys::describe(FieldVisitor& f) {
#define AGGREGATION(id, Keys, ...) id.describe(f);
#include "cohort/objectives/aggregations.def"
#undef AGGREGATION
}

std::span<const Aggregation> aggregations() { return kAggregations; }

const Aggregation& find_aggregation(const std::string& name) {
  return find_choice(kAggregations, name, "aggregation");
}

at::Tensor completion_weights(const std::vector<int64_t>& lengths, const std::vector<int64_t>& group_ends,
                              const LossConfig& config, const LossCounts& counts) {
  return find_aggregation(config.aggregation).weights({lengths, group_ends, counts}, config);
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
