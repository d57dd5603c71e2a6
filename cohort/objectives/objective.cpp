#include "cohort/objectives/objective.h"

#include <algorithm>
#include <numeric>

#include "cohort/core/error.h"
#include "cohort/objectives/clip.h"
#include "cohort/objectives/kl.h"
#include "cohort/objectives/ratio.h"
#include "cohort/tensor/check.h"

namespace cohort {
namespace {

void check_input(const ObjectiveInput& input, double beta) {
  const int64_t num_tokens = input.policy_logprobs.size(0);
  check_shape(input.policy_logprobs, {num_tokens}, "grpo_objective: policy_logprobs");
  check_shape(input.old_logprobs, {num_tokens}, "grpo_objective: old_logprobs");
  check_shape(input.advantages, {num_tokens}, "grpo_objective: advantages");
  check_shape(input.token_weights, {num_tokens}, "grpo_objective: token_weights");
  COHORT_CHECK(input.ref_logprobs.defined() == (beta != 0.0), "beta is ", beta);
  if (input.ref_logprobs.defined())
    check_shape(input.ref_logprobs, {num_tokens}, "grpo_objective: ref_logprobs");
  const auto& lengths = input.completion_lengths;
  COHORT_CHECK(std::accumulate(lengths.begin(), lengths.end(), int64_t{0}) == num_tokens);
}

void count_clipped(const ClippedSurrogate& surrogate, const std::vector<int64_t>& completion_lengths,
                   ObjectiveMetrics& metrics) {
  const at::Tensor low = surrogate.low_clipped.cpu();
  const at::Tensor high = surrogate.high_clipped.cpu();
  const bool* low_data = low.const_data_ptr<bool>();
  const bool* high_data = high.const_data_ptr<bool>();
  for (int64_t length : completion_lengths) {
    if (length == 0) continue;
    const int64_t num_low = std::count(low_data, low_data + length, true);
    const int64_t num_high = std::count(high_data, high_data + length, true);
    metrics.num_low_clipped += num_low;
    metrics.num_high_clipped += num_high;
    const double tokens = static_cast<double>(length);
    metrics.smallest_low_share = std::min(metrics.smallest_low_share, static_cast<double>(num_low) / tokens);
    metrics.largest_high_share = std::max(metrics.largest_high_share, static_cast<double>(num_high) / tokens);
    low_data += length;
    high_data += length;
  }
}

}  // namespace

void ObjectiveMetrics::add(const ObjectiveMetrics& other) {
  loss += other.loss;
  kl_sum += other.kl_sum;
  num_tokens += other.num_tokens;
  num_low_clipped += other.num_low_clipped;
  num_high_clipped += other.num_high_clipped;
  smallest_low_share = std::min(smallest_low_share, other.smallest_low_share);
  largest_high_share = std::max(largest_high_share, other.largest_high_share);
}

void ObjectiveMetrics::add_skipped_completion(int64_t loss_length) {
  num_tokens += loss_length;
  if (loss_length > 0) smallest_low_share = 0.0;
}

ObjectiveOutput grpo_objective(const ObjectiveInput& input, const ObjectiveConfig& config) {
  check_input(input, config.beta);
  const at::Tensor ratio = importance_ratio(input.policy_logprobs, input.old_logprobs);
  const ClippedSurrogate surrogate =
      clipped_surrogate(ratio, input.advantages, config.epsilon, config.upper_epsilon());
  ObjectiveOutput output;
  at::Tensor token_loss = surrogate.loss;
  if (config.beta != 0.0) {
    const at::Tensor kl = kl_k3(input.policy_logprobs, input.ref_logprobs);
    token_loss = token_loss + config.beta * kl;
    output.metrics.kl_sum = kl.detach().sum(at::kDouble).item<double>();
  }
  // In float64 the sum does not depend noticeably on how the mini-batch was cut.
  output.loss = (token_loss * input.token_weights).sum(at::kDouble);
  output.metrics.loss = output.loss.item<double>();
  output.metrics.num_tokens = input.policy_logprobs.size(0);
  count_clipped(surrogate, input.completion_lengths, output.metrics);
  return output;
}

}  // namespace cohort
